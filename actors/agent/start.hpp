// The inputs with which an agent begins, and the handle to it once its actor runs. Does not include the actor library,
// so that its users compile fast.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/agent/ports.hpp"

namespace quell::actors {

enum class agent_exit : std::uint8_t {
  finished, ///< it and everything below it are over and durable
  died,     ///< of an error
};

struct agent_start {
  turn_limits limits;
  std::shared_ptr<const result_texts> texts;
  std::shared_ptr<agent_port> port;
  std::function<boot_time()> clock;
  conversation so_far; ///< ends with the message to answer
  // After a restart: see `turn::resume`. If `so_far` ends with an answer that has calls, the fields below hold the
  // known results and the calls' operations.
  bool resumes = false;
  std::vector<tool_result> known;
  std::vector<operation_id> calls;
  turn_past past;
  /// Called once: on the agent's thread if it has finished, on its parent's if it has died.
  std::function<void(agent_exit how)> over;
};

/// The handle of an agent. Any thread; calls after the agent's end do nothing.
class agent_handle {
 public:
  virtual ~agent_handle() = default;
  /// Urgent: overtakes the messages that wait in the mailbox, and continues down to the agent's tools.
  virtual void stop(abort_reason why, const std::string& reason) = 0;
  virtual void stop_call(const operation_id& call, const std::string& reason) = 0;
  /// `input`: JSON text; an approved call runs with it instead of its own.
  virtual void decide(const operation_id& call, approval_outcome how, const std::string& reason,
                      const std::optional<std::string>& input) = 0;
  /// A running call waits for a human, or no longer does.
  virtual void waits(const operation_id& call, human_wait what) = 0;
  /// The process ends: the agent does nothing more and notifies nobody.
  virtual void die() = 0;
};

} // namespace quell::actors
