// The rules of a scope path, checked in one pass; the fault says which rule is broken and at which byte.
#include "protocol/scope.hpp"

#include <algorithm>

namespace quell {

namespace {

constexpr std::size_t max_scope_bytes = 512;
constexpr std::size_t max_segments = 16;
constexpr std::size_t max_segment_bytes = 128;
constexpr std::size_t shown_bytes = 80;

bool is_scope_byte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("._-:@+=~").find(c) != std::string_view::npos;
}

/// The text, safe to display: cut short, with every byte that could upset a terminal as \xNN.
std::string shown(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, shown_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 0xf];
    }
  }
  return out + (text.size() > shown_bytes ? "…'" : "'");
}

tl::unexpected<fault> bad_scope(std::string_view text, const std::string& why) {
  return failure(error_code::bad_scope, "scope " + shown(text) + ": " + why);
}

std::string ordinal(std::size_t index) { return "segment " + std::to_string(index + 1); }

} // namespace

result<scope_path> scope_path::parse(std::string_view text) {
  if (text.empty()) return bad_scope(text, "it is empty; a scope has at least one segment, such as team/build");
  if (text.size() > max_scope_bytes)
    return bad_scope(text, std::to_string(text.size()) + " bytes long; at most 512 are allowed");
  std::size_t index = 0;
  for (std::size_t begin = 0; begin <= text.size(); ++index) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view segment = text.substr(begin, end - begin);
    if (index == max_segments) return bad_scope(text, "more than 16 segments");
    if (segment.empty()) return bad_scope(text, ordinal(index) + " is empty; '/' stands only between two segments");
    if (segment.size() > max_segment_bytes)
      return bad_scope(text, ordinal(index) + " is " + std::to_string(segment.size()) +
                                 " bytes long; at most 128 are allowed");
    if (segment == "." || segment == "..") return bad_scope(text, ordinal(index) + " may not be '.' or '..'");
    const auto bad = std::find_if_not(segment.begin(), segment.end(), is_scope_byte);
    if (bad != segment.end())
      return bad_scope(text, "byte " + std::to_string(begin + static_cast<std::size_t>(bad - segment.begin()) + 1) +
                                 ", " + shown(std::string_view(&*bad, 1)) +
                                 ", is not allowed; use A-Z a-z 0-9 . _ - : @ + = ~");
    begin = end + 1;
  }
  return scope_path(std::string(text));
}

std::vector<std::string_view> scope_path::segments() const {
  std::vector<std::string_view> found;
  const std::string_view text = text_;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    found.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

std::size_t scope_path::depth() const {
  return 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '/'));
}

std::optional<scope_path> scope_path::parent() const {
  const std::size_t cut = text_.rfind('/');
  if (cut == std::string::npos) return std::nullopt;
  return scope_path(text_.substr(0, cut));
}

scope_path scope_path::first(std::size_t segments) const {
  std::size_t end = text_.find('/');
  for (; segments > 1 && end != std::string::npos; --segments) end = text_.find('/', end + 1);
  return scope_path(text_.substr(0, end));
}

bool scope_path::is_at_or_below(const scope_path& other) const {
  if (!text_.starts_with(other.text_)) return false;
  return text_.size() == other.text_.size() || text_[other.text_.size()] == '/';
}

} // namespace quell
