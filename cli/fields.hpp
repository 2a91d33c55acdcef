// Reading members of an answer without trusting it: a missing or odd member reads as null, "", 0.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::cli {

/// The member, or a null that lives for ever.
const nlohmann::json& member(const nlohmann::json& object, const char* name);
/// The text of a string member, "" otherwise.
std::string text_of(const nlohmann::json& object, const char* name);
/// A number without its fraction; 0 for what is no number, or one that fits nowhere.
std::int64_t whole_number(const nlohmann::json& value);
/// The same of a member.
std::int64_t number_of(const nlohmann::json& object, const char* name);
std::optional<wall_time> instant_of(const nlohmann::json& object, const char* name);
/// The text with control characters (a terminal's escapes among them) replaced by `?`, for showing what others wrote.
std::string printable(std::string_view text);
/// One line, never an exception: bytes that are no UTF-8 become U+FFFD.
std::string to_line(const nlohmann::json& value);

} // namespace quell::cli
