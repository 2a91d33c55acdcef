// A task on a worker for a call: created below the call, fed its stdin, its output collected, its end reported. The
// ledger stops it, since it lies below the call.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/file_versions.hpp"
#include "actors/turns/tool_task.hpp"

namespace quell::controller::turns {

/// The end of a task, with the kept part of its output.
struct task_end {
  ended_operation how;
  std::string out, err;
  std::uint64_t dropped_bytes = 0;
  std::optional<fault> refused; ///< it was never created
};

/// The call's result for the end of its task.
actors::work_end end_of(const task_end& end, const tool_definition& tool, const json_result_texts& texts);
/// The same for a sub-agent that is a command.
actors::work_end end_of_command(const task_end& end, const agent_settings& settings, const json_result_texts& texts);
/// The order for the task of this call; completes the request.
create_order order_for_call(const agent_context& who, const operation_id& call, const tool_call& what,
                            task_request& request);
/// A call of `read`, `write` or `edit`: writes wait for their turn in the lane of their file, and an edit applies to
/// the version that this conversation saw last.
std::unique_ptr<actors::tool_work> make_file_work(std::shared_ptr<agent_runtime> runtime, const agent_context& who,
                                                  const operation_id& call, const tool_definition& tool,
                                                  const tool_call& what, const std::string& file,
                                                  std::shared_ptr<file_versions> files);

/// The lane of path_lanes for this file: the same path is another file in another conversation's workspace.
std::string lane_of(const agent_context& who, const std::string& file);

/// Must be held by a shared_ptr. Belongs to the actor behind `post`: all that changes it is a step there, from `start`
/// or `adopt` on, and `done` is called in such a step. The task itself needs no actor to end.
class task_run final : public operation_watcher, public std::enable_shared_from_this<task_run> {
 public:
  task_run(std::shared_ptr<agent_runtime> runtime, task_request what, actors::step_poster post)
      : runtime_(std::move(runtime)), post_(std::move(post)), what_(std::move(what)) {}
  /// Calls `done` once, when the task is terminal and its output is complete.
  void start(create_order order, std::function<void(task_end)> done);

  /// The same for a task that an earlier life of this process created.
  void adopt(const operation_id& task, std::function<void(task_end)> done);

  /// Call before `start`: `what` is called with the task's id when it begins.
  void when_started(std::function<void(const operation_id&)> what) { when_started_ = std::move(what); }

  // Notices of the controller, on any thread.
  void started(const std::string& worker) override;
  void ended(const ended_operation& e) override;

 private:
  void follow(create_order order);
  void go_on(create_order order);
  void create(create_order order);
  void refuse(const fault& why);
  void begun(const std::string& worker);
  void feed(const std::string& worker, std::uint64_t from, int tries, milliseconds wait);
  void finish(task_end end);
  // As background reads:
  void look_up(store_reader& store);
  void collect(const ended_operation& how, int tries);
  std::uint64_t read(stream which, std::string& into, bool& is_complete);

  const std::shared_ptr<agent_runtime> runtime_;
  const actors::step_poster post_;
  task_request what_; ///< constant once the task is created
  operation_id id_;   ///< constant once started or adopted
  std::function<void(task_end)> done_;
  std::function<void(const operation_id&)> when_started_;
  bool is_over_ = false, has_begun_ = false;
};

} // namespace quell::controller::turns
