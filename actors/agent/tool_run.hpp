// One running tool call: its go, its work and its end. A stop goes to the work at once; the agent then decides the
// call's result, and the tool run waits only for the end of the work. Each tool actor owns one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/agent/ports.hpp"

namespace quell::actors {

/// One thread; the port's answers and the end of the work come back through `post`.
class tool_run {
 public:
  struct parts {
    operation_id call;
    tool_call what;
    std::shared_ptr<agent_port> port;
    std::unique_ptr<tool_work> work;
    /// Runs a closure later on the owner's thread; does nothing after the owner's end.
    step_poster post;
    /// Called once, with the only result that stands.
    std::function<void(const tool_result& stands)> over;
  };
  explicit tool_run(parts p) : it_(std::move(p)) {}

  void begin();
  void stop(const std::string& reason);

 private:
  void go(bool may_begin);
  void close(const work_end& how);

  parts it_;
  bool is_stopped_ = false;
  bool is_over_ = false; ///< its work has ended
};

} // namespace quell::actors
