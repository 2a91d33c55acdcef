// systemd's notification protocol (sd_notify(3)): datagrams to the socket that NOTIFY_SOCKET names. Does nothing if the
// variable is not set.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace quell::host {

class service_manager {
 public:
  /// `socket`: the value of NOTIFY_SOCKET, a path, or `@` and an abstract name; "" = no listener.
  explicit service_manager(std::string socket) : socket_(std::move(socket)) {}

  /// `READY=1` with a line that `systemctl status` shows.
  void ready(std::string_view status) const { tell("READY=1\nSTATUS=" + one_line(status)); }
  /// `STOPPING=1`: a planned stop has begun.
  void stopping(std::string_view status) const { tell("STOPPING=1\nSTATUS=" + one_line(status)); }

 private:
  static std::string one_line(std::string_view text);
  /// Best effort: a missing listener is not an error.
  void tell(const std::string& state) const;

  std::string socket_;
};

} // namespace quell::host
