// Plain HTTP over TCP or a Unix socket.
#include "controller/gateway/session_loop.hpp"

namespace quell::controller::http {

awaitable<> serve_plain(std::shared_ptr<core> gw, any_socket socket) {
  try {
    plain_stream stream(std::move(socket));
    session_loop<plain_stream> loop(gw, stream);
    co_await loop.run();
    beast::error_code ignored;
    stream.socket().shutdown(any_socket::shutdown_both, ignored);
  } catch (const std::exception& e) {
    spdlog::error("an HTTP connection broke off: {}", e.what());
  }
}

awaitable<> turn_away(std::shared_ptr<core> gw, any_socket socket, [[maybe_unused]] std::shared_ptr<void> here) {
  ++gw->turned_away;
  const std::shared_ptr<void> counted(nullptr, [gw](void*) { --gw->turned_away; });
  try {
    plain_stream stream(std::move(socket));
    stream.expires_after(std::chrono::seconds(1));
    auto answer = problem_answer({.code = "rate_limited",
                                  .detail = "there are " + std::to_string(gw->connections) +
                                            " connections, which is the limit, and all are at work; come again later",
                                  .headers = {{"Retry-After", "1"}}},
                                 request_id::fresh());
    ++gw->metrics.answers_by_status[answer.status];
    const auto text = reply_head(answer, body_form::sized_and_close) + answer.body;
    beast::error_code error;
    co_await boost::asio::async_write(stream, boost::asio::buffer(text),
                                      boost::asio::redirect_error(boost::asio::use_awaitable, error));
    stream.socket().shutdown(any_socket::shutdown_send, error);
    // What was sent before the answer is read, so that it does not turn the answer into a reset.
    std::string sink(16 * 1024, '\0');
    for (std::size_t total = 0; !error && total < 2 * 1024 * 1024;)
      total += co_await stream.async_read_some(boost::asio::buffer(sink),
                                               boost::asio::redirect_error(boost::asio::use_awaitable, error));
  } catch (const std::exception& e) {
    spdlog::error("an HTTP connection broke off: {}", e.what());
  }
}

} // namespace quell::controller::http
