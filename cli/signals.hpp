// Turns signals into events of the loop: a signalfd, with the signals blocked for its lifetime.
#pragma once

#include <functional>
#include <initializer_list>
#include <signal.h>

#include "cli/http.hpp"

namespace quell::cli {

class signal_watch {
 public:
  /// Blocks the signals in this thread and passes each one to `on_signal` inside the loop. A child must get
  /// `mask_before` back before its exec.
  signal_watch(event_loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal);
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  /// The previous signal mask.
  const sigset_t& mask_before() const { return before_; }

 private:
  event_loop& loop_;
  int descriptor_ = -1;
  sigset_t before_{};
};

} // namespace quell::cli
