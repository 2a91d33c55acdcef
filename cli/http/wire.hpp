// One connection to a server, with or without TLS.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/http/tls.hpp"

namespace quell::cli {

/// Handlers run inside the loop and never inside the call that takes them. They keep what they need alive; a wire is
/// alive as long as an operation of its own runs.
class wire : public std::enable_shared_from_this<wire> {
 public:
  using error_code = boost::system::error_code;
  using handler = std::function<void(const error_code&, std::size_t)>;

  explicit wire(boost::asio::io_context& io) : socket_(io) {}

  void connect(const boost::asio::ip::tcp::endpoint& to, std::function<void(const error_code&)> done);
  /// The handshake on a connected wire; `done` gets "" or why it failed.
  void secure(boost::asio::ssl::context& context, const std::string& host, std::function<void(std::string)> done);

  /// All of `bytes`, which stay where they are until `done`. The count is what the system took; 0 = nothing left.
  void write(std::string_view bytes, handler done);
  /// At least one byte into `room`, which stays where it is until `done`.
  void read(boost::asio::mutable_buffer room, handler done);

  /// False if the server has closed the idle connection, or sent something that nobody asked for.
  bool is_idle();
  /// Operations end with an error. Idempotent.
  void close();

 private:
  boost::asio::ip::tcp::socket socket_;
  std::optional<tls_stream> tls_;
};

} // namespace quell::cli
