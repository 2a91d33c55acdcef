// Decodes server-sent events from bytes that arrive in arbitrary pieces.
#include "integrations/models/sse.hpp"

#include <charconv>
#include <cstdint>

#include "integrations/models/limits.hpp"

namespace quell::integrations {

sse_decoder::state sse_decoder::take(std::string_view bytes, const sink& event) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_cr_ = false;
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > limits::line_bytes) return state::line_too_long;
    if (end == std::string_view::npos) {
      line_ += piece;
      return state::fine;
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    state now = state::fine;
    if (line_.empty()) {
      now = take_line(piece, event);
    } else {
      line_ += piece;
      const std::string whole = std::move(line_);
      line_.clear();
      now = take_line(whole, event);
    }
    if (now != state::fine) return now;
  }
  return state::fine;
}

void sse_decoder::take_retry(std::string_view digits) {
  std::int64_t pause = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pause);
  if (error == std::errc() && end == digits.data() + digits.size() && pause >= 0)
    retry_ = std::chrono::milliseconds(pause);
}

sse_decoder::state sse_decoder::take_line(std::string_view line, const sink& event) {
  if (at_start_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  at_start_ = false;
  if (line.empty()) {
    const bool complete = has_data_;
    const std::string name = std::move(name_), data = std::move(data_);
    name_.clear();
    data_.clear();
    has_data_ = false;
    last_id_ = id_;
    return !complete || event(name, data) ? state::fine : state::stopped;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") name_ = value;
  if (field == "id" && value.find('\0') == std::string_view::npos) id_ = value;
  if (field == "retry") take_retry(value);
  if (field == "data") {
    if (data_.size() + value.size() + 1 > limits::event_bytes) return state::event_too_long;
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
  return state::fine;
}

} // namespace quell::integrations
