// Reads members of an answer defensively.
#include "cli/fields.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/instant.hpp"
#include "cli/json_text.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli {

namespace {

enum class shown_as : std::uint8_t { plain, replaced, left_out };

/// The bytes of the first character; one byte if it is not valid UTF-8.
std::string_view first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const auto whole = text.substr(0, length);
  return whole.size() == length && is_utf8(whole) ? whole : text.substr(0, 1);
}

/// U+FFFD for a byte that is not UTF-8.
char32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead < 0x80 ? lead : 0xfffd;
  char32_t code = lead & (character.size() == 2 ? 0x1f : character.size() == 3 ? 0x0f : 0x07);
  for (const char c : character.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

/// Finds characters that a terminal does not show as themselves: controls, marks that change the direction of the text,
/// and characters without width, which would make two texts look the same.
shown_as look_of(char32_t c) {
  struct range {
    char32_t first, last;
  };
  constexpr auto unseen = std::to_array<range>({{0, 0x1f},
                                                {0x7f, 0x9f},
                                                {0xad, 0xad},
                                                {0x34f, 0x34f},
                                                {0x61c, 0x61c},
                                                {0x115f, 0x1160},
                                                {0x17b4, 0x17b5},
                                                {0x180b, 0x180f},
                                                {0x200b, 0x200f},
                                                {0x2028, 0x202e},
                                                {0x2060, 0x206f},
                                                {0x3164, 0x3164},
                                                {0xfeff, 0xfeff},
                                                {0xffa0, 0xffa0},
                                                {0xfff0, 0xfffb},
                                                {0x1bca0, 0x1bca3},
                                                {0x1d173, 0x1d17a},
                                                {0xe0000, 0xe0fff}});
  if (c >= 0xfe00 && c <= 0xfe0f)
    return shown_as::left_out; // variation selectors of the character before: common in emoji
  const bool is_unseen =
      std::any_of(unseen.begin(), unseen.end(), [c](range r) { return c >= r.first && c <= r.last; });
  return is_unseen ? shown_as::replaced : shown_as::plain;
}

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

std::optional<wall_time> instant_of(const nlohmann::json& object, const char* name) {
  return parse_instant(text_of(object, name));
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto character = first_character(text);
    text.remove_prefix(character.size());
    const auto code = code_point(character);
    switch (look_of(code)) {
    case shown_as::plain:
      out += is_utf8(character) ? character : "?";
      break;
    case shown_as::replaced:
      out.append(code < 0xa0 ? character.size() : 1, '?');
      break;
    case shown_as::left_out:
      break;
    }
  }
  return out;
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
