// Reloads that were asked for, until the main thread performs them: from any thread to one.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protocol/fault.hpp"

namespace quell::controller {

/// The places that changed; a fault if nothing did, because the configuration is wrong or needs a restart.
using reload_result = result<std::vector<std::string>>;

class reload_requests {
 public:
  using answer = std::function<void(const reload_result&)>;

  reload_requests() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~reload_requests() { ::close(fd_); }
  reload_requests(const reload_requests&) = delete;
  reload_requests& operator=(const reload_requests&) = delete;

  /// Any thread.
  void ask(answer done) {
    {
      const std::lock_guard lock(guard_);
      waiting_.push_back(std::move(done));
    }
    ::eventfd_write(fd_, 1);
  }
  /// Readable while somebody waits (poll).
  int descriptor() const { return fd_; }
  /// All that wait: one reload answers them.
  std::vector<answer> take() {
    eventfd_t count = 0;
    ::eventfd_read(fd_, &count);
    const std::lock_guard lock(guard_);
    return std::exchange(waiting_, {});
  }

 private:
  int fd_;
  std::mutex guard_;
  std::vector<answer> waiting_;
};

} // namespace quell::controller
