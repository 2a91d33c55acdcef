// One HTTP/1.1 connection: reads requests, writes answers, keeps the connection alive, notices a disconnect.
#pragma once

#include <memory>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include "gateway/gateway_context.hpp"

namespace quell::controller::http {

/// TCP and Unix sockets alike.
using any_socket = boost::asio::generic::stream_protocol::socket;

/// A connection's place in the table, from accept to end.
class connection {
 public:
  using phase = connection_table::phase;
  static std::shared_ptr<connection> enter(std::shared_ptr<gateway_context> gw, std::string peer,
                                           connection_table::place where);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Closes the connection if it must make room; empty = not yet, or no longer, possible.
  std::function<void()> close;
  bool must_go = false; ///< it had to make room
  bool is_reserved = false;
  void move(phase to);
  void watches_for(const std::string& token);

 private:
  explicit connection(std::shared_ptr<gateway_context> gw) : gw_(std::move(gw)) {}
  std::shared_ptr<gateway_context> gw_;
  connection_table::id id_ = 0;
};

/// Serves the connection until it ends; never throws. `tls` null = plain.
awaitable<> serve_plain(std::shared_ptr<gateway_context> gw, any_socket socket, std::shared_ptr<connection> place);
awaitable<> serve_tls(std::shared_ptr<gateway_context> gw, any_socket socket,
                      std::shared_ptr<boost::asio::ssl::context> tls, std::shared_ptr<connection> place);

/// The sender: an IPv4 address, the network of an IPv6 one, or `local` for a Unix socket.
std::string peer_of(const any_socket& socket);

} // namespace quell::controller::http
