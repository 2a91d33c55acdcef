// Each description is one line, whatever characters the names contain.
#include "integrations/chat/attached.hpp"

#include <algorithm>

#include "integrations/models/text.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::size_t most_file_name = 128, most_url = 1024, most_words = 4000, most_all = 16 << 10;

/// The address itself if it is printable ASCII of acceptable length, otherwise "".
std::string_view plain_url(std::string_view url) {
  const bool is_plain = std::all_of(url.begin(), url.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  return is_plain && url.size() <= most_url ? url : std::string_view{};
}

} // namespace

std::string attached_file(std::string_view name, std::string_view type, std::optional<std::uint64_t> bytes,
                          std::string_view url) {
  std::string about = excerpt(type, most_file_name);
  if (bytes) about += (about.empty() ? "" : ", ") + std::to_string(*bytes) + " bytes";
  std::string line = "[attached: " + (name.empty() ? std::string("a file") : excerpt(name, most_file_name));
  if (!about.empty()) line += " (" + about + ")";
  if (const auto where = plain_url(url); !where.empty()) line += " " + std::string(where);
  return line + "]";
}

std::string attached_thing(std::string_view kind, std::string_view name) {
  return "[" + std::string(kind) + (name.empty() ? "" : ": " + excerpt(name, most_file_name)) + "]";
}

std::string forwarded(std::string_view from, std::string_view text) {
  std::string line = "[forwarded" + (from.empty() ? std::string() : " from " + excerpt(from, most_file_name));
  if (text.empty()) return line + "]";
  const auto words = utf8_prefix(text, most_words);
  return line + ": " + std::string(words) + (words.size() < text.size() ? "…]" : "]");
}

std::string with_attached(std::string text, const std::string& attached, bool is_cancel) {
  if (attached.empty() || is_cancel) return text;
  return text.empty() ? attached : text + "\n" + attached;
}

void attach(std::string& to, const std::string& line) {
  if (to.size() + line.size() > most_all) return;
  if (!to.empty()) to += '\n';
  to += line;
}

} // namespace quell::integrations::chat
