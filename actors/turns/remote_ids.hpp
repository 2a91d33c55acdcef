// The ids of a remote agent's conversations and tasks as a model reads and writes them: each with a seal that only the
// scope that got the id can use. Immutable; any thread.
#pragma once

#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::turns {

class remote_ids {
 public:
  /// `key`: secret, not empty; the same one reads the seals of earlier lives.
  explicit remote_ids(std::string_view key);

  /// The result of a call (JSON text) with `conversation` and `task` sealed for this agent in this scope. Text of
  /// another shape stays as it is.
  std::string sealed(const std::string& result_json, const std::string& agent, const scope_path& scope) const;
  /// The input of a call (JSON text) with the ids that the agent knows. Fault `a2a_refused`: an id has no seal of this
  /// agent and scope, so its conversation belongs to another one, or was made up.
  result<std::string> opened(const std::string& input_json, const std::string& agent, const scope_path& scope) const;

 private:
  std::string seal_of(const char* kind, const std::string& id, const std::string& agent, const scope_path& scope) const;

  std::string key_;
};

} // namespace quell::controller::turns
