// HTTPS over TCP.
#include "gateway/session_loop.hpp"

#include <boost/asio/ssl/stream.hpp>
#include <openssl/x509v3.h>

namespace quell::controller::http {

awaitable<> serve_tls(std::shared_ptr<gateway_context> gw, any_socket socket,
                      std::shared_ptr<boost::asio::ssl::context> tls, std::shared_ptr<connection> place) {
  using tls_stream = boost::asio::ssl::stream<movable_stream>;
  try {
    tls_stream stream(movable_stream(std::move(socket)), *tls);
    beast::error_code error;
    place->close = [&stream] { beast::get_lowest_layer(stream).close(); };
    const std::shared_ptr<void> closable(nullptr, [place](void*) { place->close = {}; });
    beast::get_lowest_layer(stream).expires_after(std::chrono::seconds(10));
    co_await stream.async_handshake(boost::asio::ssl::stream_base::server,
                                    boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error || place->must_go) co_return;
    {
      session_loop<tls_stream> loop(gw, stream, place);
      loop.is_certified = [&stream](const std::string& host) {
        X509* own = ::SSL_get_certificate(stream.native_handle());
        return own != nullptr && ::X509_check_host(own, host.data(), host.size(), 0, nullptr) == 1;
      };
      co_await loop.run();
    }
    if (place->must_go) co_return;
    place->close = [&stream] { beast::get_lowest_layer(stream).close(); };
    place->move(connection::phase::idle);
    beast::get_lowest_layer(stream).expires_after(std::chrono::seconds(2));
    co_await stream.async_shutdown(boost::asio::redirect_error(boost::asio::use_awaitable, error));
  } catch (const std::exception& e) {
    spdlog::error("an HTTPS connection broke off: {}", e.what());
  }
}

} // namespace quell::controller::http
