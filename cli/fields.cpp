// Reads members of an answer defensively.
#include "cli/fields.hpp"

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/instant.hpp"
#include "cli/json_text.hpp"
#include "protocol/printable.hpp"

namespace quell::cli {

namespace {

/// The JSON escape; above U+FFFF a surrogate pair.
std::string escaped(char32_t c) {
  char text[16] = {};
  if (c <= 0xffff)
    std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(c));
  else
    std::snprintf(text, sizeof text, "\\u%04x\\u%04x", static_cast<unsigned>(0xd800 + ((c - 0x10000) >> 10)),
                  static_cast<unsigned>(0xdc00 + ((c - 0x10000) & 0x3ff)));
  return text;
}

} // namespace

const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

std::int64_t whole_number(const nlohmann::json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return 0;
  const double number = value.get<double>();
  constexpr double most = 9.2e18; // a conversion beyond the type's range is undefined
  return number > -most && number < most ? static_cast<std::int64_t>(number) : 0;
}

std::int64_t number_of(const nlohmann::json& object, const char* name) { return whole_number(member(object, name)); }

event_type type_of(const nlohmann::json& event) {
  return event_type_of(text_of(event, "type")).value_or(event_type::unlisted);
}

std::optional<wall_time> instant_of(const nlohmann::json& object, const char* name) {
  return parse_instant(text_of(object, name));
}

std::string to_line(const nlohmann::json& value) { return to_text(value, -1); }

std::string to_text(const nlohmann::json& value, int indent) {
  const auto json = value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(json.size());
  for (std::string_view rest = json; !rest.empty();) {
    const auto character = first_character(rest);
    rest.remove_prefix(character.size());
    const auto code = code_point(character);
    if (code < 0x7f ||
        look_of(code) == shown_as::plain) // lower control characters are escaped, or the layout's newlines
      out += character;
    else
      out += escaped(code);
  }
  return out;
}

} // namespace quell::cli
