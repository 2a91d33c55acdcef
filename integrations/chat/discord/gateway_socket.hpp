// A websocket with its own thread, for use from another one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "protocol/fault.hpp"

namespace quell::integrations::chat::discord {

/// Connections are numbered: at most one is open, and late events of an older one can still arrive. Every method: any
/// thread except the socket's own.
class gateway_socket {
 public:
  /// Called on the socket's thread; must only hand over.
  struct listener {
    std::function<void(std::uint64_t connection)> connected;
    std::function<void(std::uint64_t connection, std::string text)> received;
    /// The connection has ended or could not be made; `code` 0: without a close frame.
    std::function<void(std::uint64_t connection, std::uint16_t code, std::string why)> lost;
  };
  /// Fault `invalid_field`: the file of authorities cannot be read. A message above 16 MiB ends the connection.
  static result<std::unique_ptr<gateway_socket>> start(listener notify, const std::string& ca_file);
  ~gateway_socket();
  gateway_socket(const gateway_socket&) = delete;
  gateway_socket& operator=(const gateway_socket&) = delete;

  /// `ws://` or `wss://`. Returns the connection's number; an older one must have been hung up or lost.
  std::uint64_t connect(const std::string& url);
  void send(std::string text);
  /// Nothing more is reported about the connection, except events already in flight.
  void hang_up(std::uint16_t code);
  /// Ends connection and thread; nothing is reported afterwards. Idempotent.
  void stop();

 private:
  struct implementation;
  explicit gateway_socket(std::unique_ptr<implementation> c);
  std::unique_ptr<implementation> implementation_;
};

} // namespace quell::integrations::chat::discord
