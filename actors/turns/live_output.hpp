// Shows the output of a running command to the watchers of this moment, as events `tool_output`, which are not stored.
// Bounded in size and rate: faster output is skipped, and counted.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "actors/turns/agent_runtime.hpp"

namespace quell::controller::turns {

/// Must be held by a shared_ptr; any thread.
class live_output final : public std::enable_shared_from_this<live_output> {
 public:
  live_output(std::shared_ptr<agent_runtime> runtime, const agent_context& who, const operation_id& call,
              const tool_call& what);
  /// The command has begun, as this task.
  void follow(const operation_id& task);
  /// Its result is known: nothing more is shown.
  void end();

 private:
  void look();
  /// `half`: bytes behind `seen` that begin a character.
  bool show(stream which, std::uint64_t& seen, std::uint64_t& half);

  std::shared_ptr<agent_runtime> runtime_;
  records::event_record event_;
  const std::string call_, name_, operation_;
  operation_id task_;
  std::uint64_t seen_out_ = 0, seen_err_ = 0, half_out_ = 0, half_err_ = 0; ///< background reads only
  std::atomic<bool> is_over_{false};
};

} // namespace quell::controller::turns
