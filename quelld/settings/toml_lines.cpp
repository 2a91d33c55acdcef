// Lines of a TOML table.
#include "quelld/settings/toml_lines.hpp"

namespace quell::controller::turns {

std::string toml_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const auto& t : texts) out += (out.size() == 1 ? "" : ", ") + toml_quoted(t);
  return out + "]";
}

void toml_lines::text(const char* key, const std::string& value) {
  if (!value.empty()) plain(key, toml_quoted(value));
}

void toml_lines::texts(const char* key, const std::vector<std::string>& value) {
  if (!value.empty()) plain(key, toml_list(value));
}

void toml_lines::table(const char* key, const std::map<std::string, std::string>& value) {
  if (value.empty()) return;
  std::string out = "{";
  for (const auto& [k, v] : value) out += (out.size() == 1 ? " " : ", ") + toml_quoted(k) + " = " + toml_quoted(v);
  plain(key, out + " }");
}

void toml_lines::plain(const char* key, const std::string& value) { all_ += std::string(key) + " = " + value + "\n"; }

} // namespace quell::controller::turns
