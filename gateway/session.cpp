// A connection's place in the table.
#include "gateway/session.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace quell::controller::http {

std::shared_ptr<connection> connection::enter(std::shared_ptr<gateway_context> gw, std::string peer,
                                              connection_table::place where) {
  auto made = std::shared_ptr<connection>(new connection(gw));
  made->is_reserved = where == connection_table::place::reserved;
  const auto drop = [weak = std::weak_ptr(made)] {
    const auto here = weak.lock();
    if (!here) return;
    here->must_go = true;
    if (here->close) here->close();
  };
  made->id_ = gw->connections.enter(std::move(peer), where, drop, std::chrono::steady_clock::now());
  return made;
}

connection::~connection() { gw_->connections.leave(id_); }

void connection::move(phase to) { gw_->connections.move(id_, to, std::chrono::steady_clock::now()); }

void connection::watches_for(const std::string& token) {
  gw_->connections.belongs_to(id_, token);
  move(phase::watching);
}

std::string peer_of(const any_socket& socket) {
  sockaddr_storage raw{};
  socklen_t size = sizeof raw;
  if (::getpeername(const_cast<any_socket&>(socket).native_handle(), reinterpret_cast<sockaddr*>(&raw), &size) != 0)
    return "unknown";
  char text[INET6_ADDRSTRLEN] = {};
  if (raw.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(raw).sin_addr, text, sizeof text);
    return text;
  }
  if (raw.ss_family != AF_INET6) return "local";
  auto network = reinterpret_cast<const sockaddr_in6&>(raw).sin6_addr;
  // A peer with one address of a /64 has all of them; an IPv4 address written as IPv6 is kept whole.
  if (!IN6_IS_ADDR_V4MAPPED(&network)) std::fill(network.s6_addr + 8, network.s6_addr + 16, std::uint8_t{0});
  ::inet_ntop(AF_INET6, &network, text, sizeof text);
  return text;
}

} // namespace quell::controller::http
