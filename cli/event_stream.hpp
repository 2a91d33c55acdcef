// Server-sent events: bytes in, events out. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace quell::cli {

struct stream_event {
  std::string id, type, data;
};

/// Takes bytes as they arrive and passes complete events to the callback. `feed` returns false for a line or event
/// above 16 MiB.
class event_parser {
 public:
  explicit event_parser(std::function<void(const stream_event&)> take) : take_(std::move(take)) {}
  bool feed(std::string_view bytes);
  /// The id of the last event received, for a resumption; "" before the first.
  const std::string& last_id() const { return last_id_; }

 private:
  void line(std::string_view text);

  std::function<void(const stream_event&)> take_;
  std::string rest_;
  stream_event current_;
  std::string last_id_;
};

} // namespace quell::cli
