// The controller's CURVE key and the one that follows it (`quelld --rotate-key`, `--finish-key`), as the files of the
// state directory say while quelld runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "protocol/socket.hpp"

namespace quell::controller {

class core;

/// Looked at by one thread.
class own_key {
 public:
  /// Has something done on the actor's thread.
  using order = std::function<void(std::function<void(core&)>)>;
  /// `present` is served now. The sockets outlive this.
  own_key(std::string directory, std::string present, server_socket& control, server_socket& bulk, order to_heart);
  /// Tells the workers of a next key, and has the sockets take a new one, which is then returned (its public half).
  std::optional<std::string> look();

 private:
  void announce(std::string next, const std::optional<std::string>& changed) const;

  std::string directory_, present_;
  std::optional<std::string> next_; ///< as the workers were told; "" = none
  server_socket& control_;
  server_socket& bulk_;
  order to_heart_;
};

} // namespace quell::controller
