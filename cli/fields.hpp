// Reads members of an answer without trusting it: a missing or malformed member reads as null, "", 0.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/event_type.hpp"
#include "protocol/printable.hpp"
#include "protocol/time.hpp"

namespace quell::cli {

/// The member, or a static null.
const nlohmann::json& member(const nlohmann::json& object, const char* name);
/// The text of a string member, otherwise "".
std::string text_of(const nlohmann::json& object, const char* name);
/// A number without its fraction; 0 if the value is not a number or out of range.
std::int64_t whole_number(const nlohmann::json& value);
/// `whole_number` of a member.
std::int64_t number_of(const nlohmann::json& object, const char* name);
/// The type of an event; `unlisted` if this program does not know it.
event_type type_of(const nlohmann::json& event);
std::optional<wall_time> instant_of(const nlohmann::json& object, const char* name);
/// One line; never throws: bytes that are not UTF-8 become U+FFFD.
std::string to_line(const nlohmann::json& value);

} // namespace quell::cli
