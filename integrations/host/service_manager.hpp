// systemd's notification protocol (sd_notify(3)): datagrams to the socket that NOTIFY_SOCKET names. Nothing happens
// where there is none.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace quell::host {

class service_manager {
 public:
  /// `socket`: the value of NOTIFY_SOCKET, a path, or `@` and an abstract name; "" = nobody listens.
  explicit service_manager(std::string socket) : socket_(std::move(socket)) {}

  /// `READY=1` with a line that `systemctl status` shows.
  void ready(std::string_view status) const { tell("READY=1\nSTATUS=" + one_line(status)); }
  /// `STOPPING=1`: a planned stop has begun.
  void stopping(std::string_view status) const { tell("STOPPING=1\nSTATUS=" + one_line(status)); }

 private:
  static std::string one_line(std::string_view text);
  /// Best effort: who does not listen is no reason to fail.
  void tell(const std::string& state) const;

  std::string socket_;
};

} // namespace quell::host
