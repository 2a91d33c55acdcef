// Plain HTTP over TCP or a Unix socket.
#include "gateway/session_loop.hpp"

namespace quell::controller::http {

awaitable<> serve_plain(std::shared_ptr<gateway_context> gw, any_socket socket, std::shared_ptr<connection> place) {
  try {
    movable_stream stream(std::move(socket));
    session_loop<movable_stream> loop(gw, stream, place);
    co_await loop.run();
    beast::error_code ignored;
    stream.next_layer().socket().shutdown(any_socket::shutdown_both, ignored);
  } catch (const std::exception& e) {
    spdlog::error("an HTTP connection broke off: {}", e.what());
  }
}

} // namespace quell::controller::http
