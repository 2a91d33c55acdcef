// Socket addresses: where a socket is bound, and which address others connect to.
#pragma once

#include <cstdint>
#include <string>
#include <unistd.h>

namespace quell::controller {

inline std::string endpoint_of(const std::string& listen) { return "tcp://" + listen; }

/// The address that a worker on this or another machine must connect to.
inline std::string advertised(const std::string& listen, const std::string& host, std::uint16_t port) {
  auto name = host.empty() ? listen.substr(0, listen.rfind(':')) : host;
  if (name == "0.0.0.0" || name == "*" || name == "[::]") {
    char own[256] = {};
    ::gethostname(own, sizeof own - 1);
    name = own;
  }
  return "tcp://" + name + ":" + std::to_string(port);
}

} // namespace quell::controller
