// Server-sent events out of bytes that come in any pieces (https://html.spec.whatwg.org, "event stream").
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations {

class sse_decoder {
 public:
  /// `name` is "" if the stream gave none. False: take no more.
  using sink = std::function<bool(std::string_view name, std::string_view data)>;

  enum class state { fine, stopped, line_too_long, event_too_long };

  /// Lines end in CR, LF or both, also when a piece ends between the two. Comments and unknown fields are dropped.
  /// After anything but `fine` the decoder takes no more.
  state take(std::string_view bytes, const sink& event);

  /// Whether anything of an event has come that no empty line ended. The end of a stream discards that.
  bool in_event() const { return !line_.empty() || has_data_; }

  /// The id of the last event that was whole; "" if there is none.
  const std::string& last_id() const { return last_id_; }
  /// What the stream said last of the pause before a new connection.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  void take_retry(std::string_view digits);
  state take_line(std::string_view line, const sink& event);

  std::string line_, name_, data_, id_, last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool at_start_ = true; ///< a byte order mark may come
};

} // namespace quell::integrations
