// Listening sockets of the gateway: TCP and Unix, as generic acceptors.
#pragma once

#include <cstdint>
#include <string>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "protocol/fault.hpp"

namespace quell::controller::http {

using any_acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

struct listening_port {
  std::string host;       ///< as given, brackets kept
  std::uint16_t port = 0; ///< the port in use
  bool is_loopback = false;
};

/// Binds HOST:PORT (IPv6 in brackets; names are not looked up, but `localhost` is 127.0.0.1). Faults: `bad_address`,
/// `address_in_use`.
result<listening_port> listen_tcp(any_acceptor& acceptor, const std::string& address);
/// Binds a Unix socket with mode 0600, replacing a dead one. Faults: `bad_address`, `address_in_use`.
result<void> listen_unix(any_acceptor& acceptor, const std::string& path);

} // namespace quell::controller::http
