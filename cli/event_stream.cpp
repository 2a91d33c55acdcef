// Parses server-sent events.
#include "cli/event_stream.hpp"

namespace quell::cli {
namespace {
constexpr std::size_t most_event_bytes = 16 * 1024 * 1024;
}

bool event_parser::feed(std::string_view bytes) {
  rest_.append(bytes);
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    std::string_view one(rest_.data() + begin, end - begin);
    if (one.ends_with('\r')) one.remove_suffix(1);
    line(one);
    begin = end + 1;
  }
  rest_.erase(0, begin);
  return rest_.size() <= most_event_bytes && current_.data.size() <= most_event_bytes;
}

void event_parser::line(std::string_view text) {
  if (text.empty()) {
    if (!current_.data.empty()) {
      if (!current_.id.empty()) last_id_ = current_.id;
      take_(current_);
    }
    current_ = {};
    return;
  }
  if (text.front() == ':') return;
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") current_.id = std::string(value);
  if (name == "event") current_.type = std::string(value);
  if (name == "data") current_.data += (current_.data.empty() ? "" : "\n") + std::string(value);
}

} // namespace quell::cli
