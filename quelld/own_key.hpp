// The controller's CURVE key and its successor (`quelld --rotate-key`, `--finish-key`), read from the state directory
// while quelld runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "protocol/socket.hpp"

namespace quell::controller {

class command_request;

/// Used by one thread.
class own_key {
 public:
  /// Gives the core a command.
  using order = std::function<void(command_request&&)>;
  /// `present` is the key in use now. The sockets must outlive this object.
  own_key(std::string directory, std::string present, server_socket& control, server_socket& bulk, order to_controller);
  /// Sends a next key to the workers; makes the sockets take a new key and then returns its public half.
  std::optional<std::string> look();

 private:
  void announce(std::string next, const std::optional<std::string>& changed) const;

  std::string directory_, present_;
  std::optional<std::string> next_; ///< the next key as sent to the workers; "" = none
  server_socket& control_;
  server_socket& bulk_;
  order controller_handle_;
};

} // namespace quell::controller
