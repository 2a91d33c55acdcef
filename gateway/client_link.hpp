// The connection of a request, as far as its handler needs it. Belongs to the requests' thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace quell::controller::http {

class signal;

class client_link {
 public:
  virtual ~client_link() = default;
  /// Starts to watch whether the client disconnects; the flag becomes true when it has gone or had to make room.
  virtual std::shared_ptr<const std::atomic<bool>> watch() = 0;
  /// Sets the signal that is notified then.
  virtual void wake_on_close(std::shared_ptr<signal> wake) = 0;
  /// True if we closed the connection, to make room for others.
  virtual bool made_room() const = 0;
  /// From now on the connection only watches, on behalf of this token.
  virtual void watches_for(const std::string& token) = 0;
  /// True for one of the few connections that are reserved for cancels while all others are at work.
  virtual bool is_reserved() const = 0;
};

} // namespace quell::controller::http
