// Each notification is one datagram on its own short-lived socket, so that no child process inherits the socket.
#include "integrations/host/service_manager.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace quell::host {

std::string service_manager::one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void service_manager::tell(const std::string& state) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof to.sun_path || (socket_[0] != '/' && socket_[0] != '@')) return;
  std::memcpy(to.sun_path, socket_.data(), socket_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to),
                 length);
  ::close(fd);
}

} // namespace quell::host
