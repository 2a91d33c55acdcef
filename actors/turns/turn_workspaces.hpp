// The workspaces of one turn and its sub-agents: finds the worker that holds the conversation's, or chooses one, and
// tells the model what is gone. Turns of a scope run one after the other, so each workspace has one owner at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/workspace_choice.hpp"
#include "protocol/task.hpp"

namespace quell::controller::turns {

class turn_workspaces;

/// Places the tasks of one agent. Any thread.
class workspace_placer {
 public:
  workspace_placer(std::shared_ptr<turn_workspaces> of, const agent_settings& agent)
      : of_(std::move(of)), agent_(agent) {}
  /// Calls `then` once with the task, bound to a worker and a directory, or with a fault for the model. `call`: the
  /// call that waits; when it is stopped it no longer waits.
  void place(task_spec spec, const operation_id& call, std::function<void(result<task_spec>)> then) const;
  /// This task, as it was placed, has begun in the workspace. That of an earlier workspace changes nothing.
  void began(const task_spec& placed) const;
  /// The same for its end; `code`: of its error, "" = none; `ran`: something of it has run.
  void ended(const task_spec& placed, const std::string& code, bool has_run) const;

 private:
  std::shared_ptr<turn_workspaces> of_;
  agent_settings agent_;
};

/// Any thread. Rows are read and changed as background reads, which run one after the other.
class turn_workspaces : public std::enable_shared_from_this<turn_workspaces> {
 public:
  turn_workspaces(std::shared_ptr<agent_runtime> runtime, scope_path scope, const operation_id& turn)
      : runtime_(std::move(runtime)), scope_(std::move(scope)), turn_(turn) {}

  /// Before the first model call of an agent: a note for the model about files that are gone; "" = none.
  void look(const agent_settings& agent, std::function<void(std::string note)> then);
  /// Nullptr: this agent's tasks work in no workspace of the conversation.
  std::shared_ptr<workspace_placer> placer(const agent_settings& agent);
  /// The turn has ended: its own workspace is removed once nothing lives in it.
  void over();

 private:
  friend class workspace_placer;
  struct job;
  std::string key_of(workspace_mode mode) const;
  void attempt(const std::shared_ptr<job>& what);
  void decided(const std::shared_ptr<job>& what, const workspace_choice& choice, bool is_stopped);
  void change(workspace_mode mode, const std::function<void(workspace_row&)>& how);

  const std::shared_ptr<agent_runtime> runtime_;
  const scope_path scope_;
  const operation_id turn_;
};

/// A task of quell's own has run in this workspace of the conversation: its worker counts that as use. Background reads
/// only.
void note_workspace_use(const std::shared_ptr<agent_runtime>& runtime, const scope_path& scope,
                        const std::optional<std::string>& cwd);
/// Removes the workspace of a turn that is over from its worker; its row goes when that is done.
void remove_workspace_of_turn(const std::shared_ptr<agent_runtime>& runtime, const workspace_row& row);
/// Removes those of turns that ended while nobody looked, and drops rows that are too old; again every hour.
void clear_workspace_rows(const std::shared_ptr<agent_runtime>& runtime, store_reader& store);

} // namespace quell::controller::turns
