// Decides which connections can use the relay. It listens on TCP, where any local user can connect, so a connection is
// let through only if its first request carries the QUELL_TOKEN of a task of this worker: a secret that the worker
// knows. Pure.
//
// Later requests of the connection come from the same client; the controller checks every token anyway.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/id.hpp"

namespace quell::worker {

class relay_gate {
 public:
  static constexpr std::size_t most_head_bytes = 32 * 1024;
  enum class verdict { wait, admit, refuse };
  struct classification {
    verdict what = verdict::wait;
    operation_id task{}; ///< whose token it carries, if it is admitted
  };

  void task_begins(const operation_id& operation, std::string token);
  void task_ends(const operation_id& operation) { tokens_.erase(operation); }

  /// Judges the bytes that a connection has sent so far; `wait`: its first head is not complete.
  classification classify(std::string_view request_head) const;
  /// The complete response for a refused connection.
  static std::string refusal();

 private:
  std::optional<operation_id> task_of(std::string_view token) const;

  std::map<operation_id, std::string> tokens_;
};

} // namespace quell::worker
