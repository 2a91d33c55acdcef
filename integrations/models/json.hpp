// Reading JSON of strangers: bounded depth, bad UTF-8 repaired, wrong types as absence. For .cpp files of this room.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations {

using json = nlohmann::json;

/// Nothing if it is no JSON or nested deeper than the limit. Invalid UTF-8 and halves of surrogate pairs become U+FFFD.
std::optional<json> parse_json(std::string_view text);

/// Text of a value, whatever strings it holds; never throws.
std::string dump_json(const json& value);

/// The member if `value` is an object that has it, or else null.
const json& member(const json& value, const char* name);
/// The member if it is a string, or else "".
std::string text_member(const json& value, const char* name);
/// The member if it is a whole number that is not negative, or else 0.
std::uint64_t count_member(const json& value, const char* name);

/// The input of a call as an object that a provider accepts: what is no JSON object is wrapped, so that the model sees
/// what it wrote.
json call_input(const std::string& input);

} // namespace quell::integrations
