// Standard output or error as a sink that never blocks the loop: a slow reader pauses the transfer, not Ctrl-C.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/http.hpp"

namespace quell::cli {

class output_sink {
 public:
  /// Called once, with the error number of the write that failed; from then on bytes are taken and dropped. EPIPE: the
  /// reader has closed its end.
  using gone_callback = std::function<void(int error)>;
  output_sink(event_loop& loop, int descriptor, gone_callback gone);
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
  gone_callback gone_;
  std::function<void()> ready_;
  std::string pending_;
  bool watching_ = false;
  int error_ = 0;    ///< of the failed write, after which nothing is written any more
  std::size_t step_; ///< a write of this size after POLLOUT does not block
};

} // namespace quell::cli
