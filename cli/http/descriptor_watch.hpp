// Tells when a descriptor of somebody else can be read or written. The descriptor stays open, and in its mode.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include "cli/http.hpp"

namespace quell::cli {

class descriptor_watch : public std::enable_shared_from_this<descriptor_watch> {
 public:
  descriptor_watch(boost::asio::io_context& io, int descriptor, ready_for what, std::function<void()> ready);

  /// Calls `ready` inside the loop, again and again, as long as the descriptor is ready, until `stop`.
  void wait();
  /// Also inside `ready`. Idempotent.
  void stop();

 private:
  void tell();

  boost::asio::posix::stream_descriptor epoll_; ///< of the one descriptor
  const std::function<void()> ready_;
  bool is_always_ready_ = false; ///< the system does not wait for it: a regular file, /dev/null, a closed descriptor
  bool is_stopped_ = false;
};

} // namespace quell::cli
