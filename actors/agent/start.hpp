// What an agent begins with, and the line to it once its actor runs. Without the actor library, so that its users
// compile fast.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/agent/ports.hpp"

namespace quell::actors {

struct agent_start {
  turn_limits limits;
  std::shared_ptr<const result_texts> texts;
  std::shared_ptr<agent_port> port;
  std::function<boot_time()> clock;
  conversation so_far; ///< ends with what is to be answered
  // After a restart `so_far` ends with an answer with calls: results that are known, and the calls' operations.
  bool resumes = false;
  std::vector<tool_result> known;
  std::vector<operation_id> calls;
  turn_past past;
  /// Called once, on the actor's thread, when everything of it is over and durable; `broken`: it died of an error.
  std::function<void(bool broken)> over;
};

/// Any thread; after the agent's end nothing happens.
class agent_line {
 public:
  virtual ~agent_line() = default;
  /// Urgent: overtakes what waits in its mailbox, and goes down to its tools.
  virtual void stop(abort_reason why, const std::string& reason) = 0;
  virtual void stop_call(const operation_id& call, const std::string& reason) = 0;
  virtual void decide(const operation_id& call, bool approved, const std::string& reason) = 0;
  /// A call that runs waits for a human, or does so no longer: that time is not its own.
  virtual void waits(const operation_id& call, bool for_human) = 0;
  /// The process ends: no more of it happens, nothing is told.
  virtual void die() = 0;
};

} // namespace quell::actors
