// JSON text: escaping, separators, numbers.
#include "controller/json/json_writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

/// The length of the UTF-8 sequence at the front of `text`, 0 if it is not valid.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < length || !is_utf8(text.substr(0, length))) return 0;
  return length;
}

/// Most texts are plain ASCII and need nothing but their bytes.
bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f;
  });
}

void escape(std::string& out, std::string_view text, bool valid) {
  constexpr std::string_view hex = "0123456789abcdef";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
    case '"':
      out += "\\\"";
      continue;
    case '\\':
      out += "\\\\";
      continue;
    case '\n':
      out += "\\n";
      continue;
    case '\r':
      out += "\\r";
      continue;
    case '\t':
      out += "\\t";
      continue;
    default:
      break;
    }
    if (c < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
    } else if (c < 0x80 || valid) {
      out += static_cast<char>(c);
    } else if (const auto length = sequence_length(text.substr(i)); length > 0) {
      out += text.substr(i, length);
      i += length - 1;
    } else {
      out += "\xef\xbf\xbd";
    }
  }
}

} // namespace

void json_writer::comma() {
  // The last byte of a value is never an opener or a colon: strings end with a quotation mark.
  if (!out_.empty() && out_.back() != '{' && out_.back() != '[' && out_.back() != ':') out_ += ',';
}

json_writer& json_writer::separate(char opener) {
  constexpr std::size_t usual_bytes = 512;
  if (out_.capacity() < usual_bytes && out_.empty()) out_.reserve(usual_bytes);
  comma();
  return add(opener);
}

json_writer& json_writer::key(std::string_view name) {
  put(name);
  return add(':');
}

void json_writer::put(std::string_view text) {
  comma();
  out_ += '"';
  if (is_plain(text))
    out_ += text;
  else
    escape(out_, text, is_utf8(text));
  out_ += '"';
}

void json_writer::put(double value) {
  if (!std::isfinite(value)) return put(nullptr);
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.3f", value);
  std::string_view number(
      text.data(), length > 0 && static_cast<std::size_t>(length) < text.size() ? static_cast<std::size_t>(length) : 0);
  if (number.empty()) return put(nullptr);
  number = number.substr(0, number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.remove_suffix(1);
  raw(number);
}

void json_writer::put(const records::person& who) {
  open_object();
  field("id", who.id).field("name", who.name);
  close_object();
}

void json_writer::put(const std::vector<std::string>& list) {
  open_array();
  for (const auto& item : list) put(item);
  close_array();
}

void json_writer::put(const std::map<std::string, std::string>& map) {
  open_object();
  for (const auto& [name, value] : map) field(name, value);
  close_object();
}

json_writer& json_writer::raw_field(std::string_view name, std::string_view json) {
  key(name);
  raw(json.empty() ? "null" : json);
  return *this;
}

void json_writer::raw(std::string_view json) {
  comma();
  out_ += json;
}

} // namespace quell::controller::http
