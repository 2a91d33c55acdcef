// Decodes server-sent events from bytes that arrive in arbitrary pieces (https://html.spec.whatwg.org, "event stream").
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations {

class sse_decoder {
 public:
  /// `name` is "" if the stream gave none. Returns false to stop.
  using sink = std::function<bool(std::string_view name, std::string_view data)>;

  enum class state { fine, stopped, line_too_long, event_too_long };

  /// Lines end in CR, LF or both, also if a piece ends between the two. Comments and unknown fields are dropped. After
  /// any result other than `fine` the decoder takes no more.
  state take(std::string_view bytes, const sink& event);

  /// Whether part of an unfinished event has arrived. The end of a stream discards that part.
  bool in_event() const { return !line_.empty() || has_data_; }

  /// The id of the last complete event; "" if there is none.
  const std::string& last_id() const { return last_id_; }
  /// The latest reconnection delay that the stream gave.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  void take_retry(std::string_view digits);
  state take_line(std::string_view line, const sink& event);

  std::string line_, name_, data_, id_, last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool at_start_ = true; ///< a byte order mark is still possible
};

} // namespace quell::integrations
