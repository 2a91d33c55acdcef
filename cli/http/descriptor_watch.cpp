// An epoll of its own for each descriptor: Boost.Asio makes what it waits for non-blocking, and standard input is
// shared with other processes, which would not expect that.
#include "cli/http/descriptor_watch.hpp"

#include <sys/epoll.h>

#include <boost/asio/post.hpp>
#include <utility>

namespace quell::cli {

using boost::system::error_code;

descriptor_watch::descriptor_watch(boost::asio::io_context& io, int descriptor, ready_for what,
                                   std::function<void()> ready)
    : epoll_(io), ready_(std::move(ready)) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  error_code error;
  if (epoll >= 0) epoll_.assign(epoll, error);
  epoll_event wanted{};
  wanted.events = what == ready_for::writing ? EPOLLOUT : EPOLLIN; // a hang-up is always told
  is_always_ready_ = epoll < 0 || error || ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &wanted) != 0;
}

void descriptor_watch::wait() {
  if (is_always_ready_) {
    boost::asio::post(epoll_.get_executor(), [self = shared_from_this()] { self->tell(); });
    return;
  }
  epoll_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [self = shared_from_this()](const error_code&) { self->tell(); });
}

void descriptor_watch::tell() {
  if (is_stopped_) return;
  ready_();
  if (!is_stopped_) wait();
}

void descriptor_watch::stop() {
  if (std::exchange(is_stopped_, true)) return;
  error_code ignored;
  epoll_.close(ignored);
}

} // namespace quell::cli
