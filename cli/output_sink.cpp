// Writes without blocking on a descriptor that other processes share and that therefore stays in blocking mode: polls
// first, then writes no more than a pipe is guaranteed to take (PIPE_BUF).
#include "cli/output_sink.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace quell::cli {

output_sink::output_sink(event_loop& loop, int descriptor, gone_callback gone)
    : loop_(loop), descriptor_(descriptor), gone_(std::move(gone)), step_(PIPE_BUF) {
  struct stat about {};
  if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) step_ = 256 * 1024;
}

output_sink::~output_sink() {
  if (watching_) loop_.unwatch(descriptor_);
}

bool output_sink::write(std::string_view bytes, std::function<void()> ready) {
  if (error_ != 0) return true;
  if (!pending_.empty()) {
    ready_ = std::move(ready);
    return false;
  }
  pending_.assign(bytes); // at most the bytes of one callback of a transfer (16 KiB)
  pump();
  return true;
}

void output_sink::append(std::string_view bytes) {
  if (error_ != 0) return;
  pending_.append(bytes);
  pump();
}

void output_sink::pump() {
  std::size_t written = 0;
  while (written < pending_.size()) {
    pollfd p{descriptor_, POLLOUT, 0};
    if (::poll(&p, 1, 0) == 0) break;
    const ssize_t n = ::write(descriptor_, pending_.data() + written, std::min(step_, pending_.size() - written));
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno != EINTR && errno != EAGAIN) {
      error_ = errno;
      written = pending_.size();
    } else if (n < 0 && errno == EAGAIN) {
      break;
    }
  }
  pending_.erase(0, written);
  if (pending_.empty() == watching_) {
    watching_ = !watching_;
    if (watching_)
      loop_.watch(descriptor_, ready_for::writing, [this] { pump(); });
    else
      loop_.unwatch(descriptor_);
  }
  if (!pending_.empty()) return;
  if (error_ != 0 && gone_) std::exchange(gone_, nullptr)(error_);
  if (ready_) std::exchange(ready_, nullptr)();
}

} // namespace quell::cli
