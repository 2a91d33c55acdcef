// One HTTP/1.1 connection: reads requests, writes answers, keeps alive, notices when the client goes.
#pragma once

#include <memory>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include "controller/gateway/core.hpp"

namespace quell::controller::http {

/// TCP and Unix sockets alike.
using any_socket = boost::asio::generic::stream_protocol::socket;

/// Serves the connection until it ends; never throws. `tls` null = plain.
awaitable<> serve_plain(std::shared_ptr<core> gw, any_socket socket);
/// Says that there are too many connections (all of them at work) and closes.
awaitable<> turn_away(std::shared_ptr<core> gw, any_socket socket, std::shared_ptr<void> here);
awaitable<> serve_tls(std::shared_ptr<core> gw, any_socket socket, std::shared_ptr<boost::asio::ssl::context> tls);

} // namespace quell::controller::http
