// Cutting and escaping.
#include "controller/commands/description.hpp"

namespace quell::controller::commands {

namespace {

constexpr std::size_t longest_value = 100;

} // namespace

description& description::shown(std::string_view field, std::string_view value) {
  if (value.empty()) return *this;
  const bool is_cut = value.size() > longest_value;
  value = value.substr(0, longest_value);
  const std::string_view quote = value.find(' ') == std::string_view::npos ? "" : "\"";
  text_.append(" ").append(field).append("=").append(quote);
  for (const char c : value) text_ += c >= ' ' && c < '\x7f' && c != '"' ? c : '?';
  text_.append(quote).append(is_cut ? "..." : "");
  return *this;
}

description& description::count(std::string_view field, std::uint64_t value) {
  text_.append(" ").append(field).append("=").append(std::to_string(value));
  return *this;
}

description& description::flag(std::string_view field, bool value) {
  if (value) text_.append(" ").append(field);
  return *this;
}

description& description::redacted(std::string_view field, std::string_view value) {
  if (value.empty()) return *this;
  text_.append(" ").append(field).append("=[").append(std::to_string(value.size())).append(" bytes]");
  return *this;
}

} // namespace quell::controller::commands
