// Standard output or error as a place for bytes that never blocks the loop: a reader that pauses pauses the transfer,
// not Ctrl-C.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/http.hpp"

namespace quell::cli {

class output_sink {
 public:
  /// `gone` is called once when nobody reads any more; from then on bytes are taken and dropped.
  output_sink(event_loop& loop, int descriptor, std::function<void()> gone);
  ~output_sink();
  output_sink(const output_sink&) = delete;
  output_sink& operator=(const output_sink&) = delete;

  /// True: all taken. False: none taken; `ready` is called when it is worth trying again.
  bool write(std::string_view bytes, std::function<void()> ready);
  /// Takes all, whatever is still pending: for what is bounded elsewhere.
  void append(std::string_view bytes);
  /// `ready` is called when all that was taken is written.
  void when_drained(std::function<void()> ready) { ready_ = std::move(ready); }
  /// True when nothing of what was taken is still to be written.
  bool drained() const { return pending_.empty(); }

 private:
  void pump();

  event_loop& loop_;
  int descriptor_;
  std::function<void()> gone_;
  std::function<void()> ready_;
  std::string pending_;
  bool watching_ = false;
  bool is_gone_ = false;
  std::size_t step_; ///< a write of this size after POLLOUT does not block
};

} // namespace quell::cli
