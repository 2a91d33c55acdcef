// The controller's CURVE key and the one that follows it (`quelld --rotate-key`, `--finish-key`), as the files of the
// state directory say while quelld runs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "controller/controller_actor.hpp"
#include "protocol/socket.hpp"

namespace quell::controller {

/// Looked at by one thread.
class own_key {
 public:
  /// `present` is served now. The sockets outlive this.
  own_key(std::string directory, std::string present, server_socket& control, server_socket& bulk,
          actors::controller_actor heart);
  /// Tells the workers of a next key, and has the sockets take a new one, which is then returned (its public half).
  std::optional<std::string> look();

 private:
  void announce(std::string next, const std::optional<std::string>& changed) const;

  std::string directory_, present_;
  std::optional<std::string> next_; ///< as the workers were told; "" = none
  server_socket& control_;
  server_socket& bulk_;
  actors::controller_actor heart_;
};

} // namespace quell::controller
