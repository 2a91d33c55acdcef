// Turns signals into events.
#include "cli/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace quell::cli {

signal_watch::signal_watch(event_loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal)
    : loop_(loop) {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : signals) sigaddset(&set, s);
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) { // without it the default actions still work
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    return;
  }
  loop_.watch(descriptor_, ready_for::reading, [fd = descriptor_, on_signal = std::move(on_signal)] {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      on_signal(static_cast<int>(info.ssi_signo));
  });
}

signal_watch::~signal_watch() {
  if (descriptor_ < 0) return;
  loop_.unwatch(descriptor_);
  ::close(descriptor_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

} // namespace quell::cli
