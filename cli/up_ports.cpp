// Chooses ports before quelld starts; configured ones are left to quelld.
#include "cli/up_ports.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <fstream>
#include <random>
#include <sstream>

#include "cli/child.hpp"
#include "cli/connection.hpp"
#include "protocol/toml.hpp"

namespace quell::cli {
namespace {

struct embedded_socket {
  const char* key;
  const char* variable;
  const char* flag;
  std::string control_ports::*endpoint;
};
constexpr std::array sockets{
    embedded_socket{"listen", "QUELLD_WORKERS_LISTEN", "--workers-listen", &control_ports::control},
    embedded_socket{"output_listen", "QUELLD_WORKERS_OUTPUT_LISTEN", "--output-listen", &control_ports::bulk}};

/// Binds the port, or any if it is 0, and lets it go again; 0 if it is taken.
std::uint16_t bound_once(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int again = 1; // as quelld binds: a port that only waits for its last packets is free
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const bool is_bound = ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  ::close(fd);
  return is_bound ? ntohs(address.sin_port) : 0;
}

/// The first port that the kernel gives to connections that name none.
std::uint16_t first_ephemeral_port() {
  std::uint16_t first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first;
}

/// A port that was free a moment ago; 0 if none is available. Below the ephemeral ones if possible: one of those can be
/// given to a connection before quelld binds it.
std::uint16_t free_port() {
  constexpr std::uint16_t lowest = 15'000;
  constexpr int tries = 100;
  std::random_device random;
  if (const auto end = first_ephemeral_port(); end > lowest)
    for (int i = 0; i < tries; ++i)
      if (const auto port = static_cast<std::uint16_t>(lowest + random() % (end - lowest)); bound_once(port) != 0)
        return port;
  return bound_once(0);
}

/// A file that cannot be read configures nothing here; quelld reports the error in it.
bool is_in_file(const std::optional<std::string>& file, const char* key) {
  if (!file) return false;
  try {
    const auto all = toml::parse_file(*file);
    return static_cast<bool>(all["workers"][key]);
  } catch (const std::exception&) {
    return false;
  }
}

} // namespace

up_ports choose_ports(const std::string& directory, const std::optional<std::string>& config,
                      const std::function<std::optional<std::string>(const char*)>& env) {
  up_ports chosen;
  const auto path = directory + "/ports";
  std::istringstream before(file_text(path, 64).value_or(""));
  std::array<std::uint16_t, sockets.size()> used{};
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const auto& s = sockets[i];
    std::uint16_t port = 0;
    before >> port;
    if (env(s.variable) || is_in_file(config, s.key)) continue;
    if (port == 0 || (i > 0 && port == used[0]) || bound_once(port) == 0) port = free_port();
    used[i] = port;
    const auto address = "127.0.0.1:" + std::to_string(port);
    chosen.ports.*s.endpoint = "tcp://" + address;
    chosen.flags.insert(chosen.flags.end(), {s.flag, address});
  }
  // Optional: without the file other ports are chosen next time.
  std::ofstream(path, std::ios::trunc) << used[0] << ' ' << used[1] << '\n';
  return chosen;
}

} // namespace quell::cli
