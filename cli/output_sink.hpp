// Standard output or error as a sink that never blocks the loop: a slow reader pauses the transfer, not Ctrl-C.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/http.hpp"

namespace quell::cli {

class output_sink {
 public:
  /// `gone` is called once when the reader is gone; from then on bytes are taken and dropped.
  output_sink(event_loop& loop, int descriptor, std::function<void()> gone);
  ~output_sink();
  output_sink(const output_sink&) = delete;
  output_sink& operator=(const output_sink&) = delete;

  /// True: all taken. False: none taken; `ready` is called when a retry makes sense.
  bool write(std::string_view bytes, std::function<void()> ready);
  /// Takes all bytes, even if others are still pending: for data that is bounded elsewhere.
  void append(std::string_view bytes);
  /// `ready` is called when all bytes taken are written.
  void when_drained(std::function<void()> ready) { ready_ = std::move(ready); }
  /// True when no bytes taken remain to be written.
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
