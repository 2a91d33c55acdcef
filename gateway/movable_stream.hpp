// A socket with time limits that can move to another thread, below HTTP or TLS. Belongs to the thread it was last moved
// to; while it moves no operation may be under way.
#pragma once

#include <optional>
#include <utility>

#include <unistd.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/basic_stream.hpp>

#include "gateway/session.hpp"

namespace quell::controller::http {

using plain_stream = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;

class movable_stream {
 public:
  using next_layer_type = plain_stream;
  using lowest_layer_type = any_socket;
  using executor_type = plain_stream::executor_type;

  explicit movable_stream(any_socket socket) : layer_(std::in_place, std::move(socket)) {}

  plain_stream& next_layer() { return *layer_; }
  const plain_stream& next_layer() const { return *layer_; }
  lowest_layer_type& lowest_layer() { return layer_->socket(); }
  const lowest_layer_type& lowest_layer() const { return layer_->socket(); }
  executor_type get_executor() { return layer_->get_executor(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& into, Token&& token) {
    return layer_->async_read_some(into, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& token) {
    return layer_->async_write_some(from, std::forward<Token>(token));
  }

  /// From now on the thread of `io` serves the socket. False if the socket is closed, which it also is if this fails.
  bool move_to(boost::asio::io_context& io) {
    boost::system::error_code error;
    any_socket there(io);
    auto& from = layer_->socket();
    const auto protocol = from.local_endpoint(error).protocol();
    const auto descriptor = error ? -1 : from.release(error);
    if (descriptor >= 0) {
      there.assign(protocol, descriptor, error);
      if (error) ::close(descriptor);
    }
    layer_.emplace(std::move(there));
    return !error;
  }

 private:
  std::optional<plain_stream> layer_; ///< never empty
};

} // namespace quell::controller::http
