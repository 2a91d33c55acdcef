// Builds query strings.
#include "cli/url.hpp"

namespace quell::cli {

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain)
      out += c;
    else
      ((out += '%') += digits[byte >> 4]) += digits[byte & 15];
  }
  return out;
}

std::string with_query(std::string path, const query& parameters) {
  char separator = path.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    path += separator;
    path += name + "=" + percent_encoded(value);
    separator = '&';
  }
  return path;
}

std::string base_address(std::string_view url) {
  const std::string_view scheme = url.starts_with("http://")    ? "http://"
                                  : url.starts_with("https://") ? "https://"
                                                                : "";
  if (scheme.empty() || url.size() == scheme.size() || url[scheme.size()] == '/') return {};
  if (url.find_first_of(" \r\n?#") != std::string_view::npos) return {};
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

} // namespace quell::cli
