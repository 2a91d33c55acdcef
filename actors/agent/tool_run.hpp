// One running tool call: the go, the work, its end. A stop goes to the work at once; the call's result is then
// another's business, and this waits only for the end. A tool actor owns one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/agent/ports.hpp"

namespace quell::actors {

/// One thread; answers of the port and the end of the work come back through `post`.
class tool_run {
 public:
  struct parts {
    operation_id call;
    tool_call what;
    std::shared_ptr<agent_port> port;
    std::unique_ptr<tool_work> work;
    /// Runs it on the owner's thread, later; nothing happens after the owner's end.
    std::function<void(std::function<void()>)> post;
    /// Once: the one result that stands.
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
};

} // namespace quell::actors
