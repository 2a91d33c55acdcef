// A websocket with a thread of its own, for whoever lives on another one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "protocol/fault.hpp"

namespace quell::integrations::chat::discord {

/// Connections are numbered: at most one is open, and what an older one still had to say may come late. Every method:
/// any thread but the socket's own.
class gateway_socket {
 public:
  /// Called on the socket's thread, and must only hand over.
  struct listener {
    std::function<void(std::uint64_t connection)> connected;
    std::function<void(std::uint64_t connection, std::string text)> received;
    /// It is over or did not come about; `code` 0: without a close frame.
    std::function<void(std::uint64_t connection, std::uint16_t code, std::string why)> lost;
  };
  /// Fault `invalid_field`: the file of authorities cannot be read. Messages above 16 MiB end a connection.
  static result<std::unique_ptr<gateway_socket>> start(listener told, const std::string& ca_file);
  ~gateway_socket();
  gateway_socket(const gateway_socket&) = delete;
  gateway_socket& operator=(const gateway_socket&) = delete;

  /// `ws://` or `wss://`. The number of the connection; an older one must have been hung up or lost.
  std::uint64_t connect(const std::string& url);
  void send(std::string text);
  /// Nothing more is told of the connection, but for what is on its way.
  void hang_up(std::uint16_t code);
  /// Ends connection and thread; nothing is told afterwards. Twice does no harm.
  void stop();

 private:
  struct core;
  explicit gateway_socket(std::unique_ptr<core> c);
  std::unique_ptr<core> core_;
};

} // namespace quell::integrations::chat::discord
