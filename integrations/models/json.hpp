// Reads JSON from untrusted sources: bounded depth, invalid UTF-8 repaired, wrong types treated as absent. For the .cpp
// files of this room.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations {

using json = nlohmann::json;

/// Nullopt if the text is not JSON or is nested deeper than the limit. Invalid UTF-8 and lone surrogates become U+FFFD.
std::optional<json> parse_json(std::string_view text);

/// The value as text, even if its strings are invalid UTF-8; never throws.
std::string dump_json(const json& value);

/// The member if `value` is an object that has it, otherwise null.
const json& member(const json& value, const char* name);
/// The member if it is a string, otherwise "".
std::string text_member(const json& value, const char* name);
/// The member if it is a non-negative integer, otherwise 0.
std::uint64_t count_member(const json& value, const char* name);

/// The input of a call as an object that a provider accepts: anything that is not a JSON object is wrapped, so that the
/// model sees what it wrote.
json call_input(const std::string& input);

} // namespace quell::integrations
