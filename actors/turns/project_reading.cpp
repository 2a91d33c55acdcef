// Rows are read as background reads; the fleet is asked on the controller's thread.
#include "actors/turns/project_reading.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "actors/turns/task_work.hpp"
#include "actors/turns/tool_task.hpp"
#include "actors/turns/turn_workspaces.hpp"
#include "actors/turns/workspace_rows.hpp"
#include "controller/fleet.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

namespace {

/// A workspace of a conversation changes by its own tasks only; a shared one by anybody.
constexpr milliseconds fresh_in_scope{600'000}, fresh_in_shared{60'000}, failed_again{60'000};
constexpr milliseconds longest_reading{10'000};

/// Passes on the first value and drops the others. Background reads only.
class first_notes {
 public:
  explicit first_notes(project_memory::listener then) : then_(std::move(then)) {}
  void operator()(project_memory::notes value) {
    if (const auto then = std::exchange(then_, nullptr)) then(std::move(value));
  }

 private:
  project_memory::listener then_;
};

struct notes_reading {
  std::shared_ptr<agent_runtime> runtime;
  scope_path scope;
  task_request task;
  project_place where;
  milliseconds fresh_for{0};
};

/// True if a worker is there that could take the task now.
bool can_be_read_now(const task_spec& spec, const fleet& workers, moment now) {
  const auto all = workers.workers(now);
  return std::any_of(all.begin(), all.end(), [&](const worker_view& w) {
    if (w.status != worker_status::ready || w.trouble || (spec.worker && *spec.worker != w.record.name)) return false;
    return std::all_of(spec.on.begin(), spec.on.end(), [&](const auto& wanted) {
      const auto at = w.record.labels.find(wanted.first);
      return at != w.record.labels.end() && at->second == wanted.second;
    });
  });
}

void start_reading(const std::shared_ptr<notes_reading>& what) {
  create_order order;
  order.by = agent_runtime::acting_for({"quell", "quell"});
  order.scope = *scope_path::parse("quell/workspaces");
  order.name = "quell-tool";
  order.title = "reads AGENTS.md and the skills of a workspace";
  const auto as_background_reads = [runtime = what->runtime](std::function<void()> step) {
    runtime->background_reads->run([step = std::move(step)](store_reader&) { step(); });
  };
  const auto run = std::make_shared<task_run>(what->runtime, what->task, as_background_reads);
  run->start(std::move(order), [what](const task_end& end) {
    project_memory::notes read;
    if (end.how.exit) note_workspace_use(what->runtime, what->scope, what->task.spec.cwd);
    if (!end.refused && end.how.exit)
      if (auto notes = read_project_notes(end.out); notes) read = std::make_shared<project_notes>(std::move(*notes));
    const auto until = what->runtime->core.now().boot + (read ? what->fresh_for : failed_again);
    what->runtime->project->done(what->where, until, std::move(read));
  });
}

/// On the thread of background reads. False: there is nothing to read.
bool find_place(notes_reading& what, const agent_settings& agent, const scope_path& scope) {
  what.where.key = project_key(agent, scope);
  what.task = project_task(agent);
  auto& spec = what.task.spec;
  spec.slots = 0; // must not wait for the work of others
  what.task.timeout = longest_reading;
  if (agent.mode == workspace_mode::shared) {
    what.fresh_for = fresh_in_shared;
    what.where.variant = agent.user.value_or("") + '\n' + agent.worker.value_or("");
    for (const auto& [key, value] : agent.on) what.where.variant.append("\n").append(key).append("=").append(value);
    return true;
  }
  const auto row = what.runtime->workspaces->find(scope.text());
  if (!row || !row->used) return false;
  what.fresh_for = fresh_in_scope;
  what.where.variant = row->name;
  workspace_place place;
  place.name = row->name;
  place.must_exist = true;
  place.quota_bytes = agent.workspace_quota;
  place.keep = row->keep;
  spec.cwd = place.text();
  spec.worker = row->worker;
  return true;
}

} // namespace

std::string project_key(const agent_settings& agent, const scope_path& scope) {
  if (agent.mode == workspace_mode::per_scope) return "scope:" + scope.text();
  // One that begins with the turn is empty when the turn begins.
  return agent.mode == workspace_mode::shared && agent.workspace ? "at:" + *agent.workspace : std::string();
}

std::string project_written_by(const std::string& tool, const agent_settings& agent, const scope_path& scope) {
  return tool == "exec" || tool == "write" || tool == "edit" ? project_key(agent, scope) : std::string();
}

bool works_in_workspace(const agent_settings& agent) {
  constexpr std::array<std::string_view, 6> those{"exec", "read", "write", "edit", "list", "search"};
  return !agent.tools || std::any_of(agent.tools->begin(), agent.tools->end(), [&](const std::string& name) {
    return std::find(those.begin(), those.end(), name) != those.end();
  });
}

void find_project_notes(const std::shared_ptr<agent_runtime>& runtime, const agent_settings& agent,
                        const scope_path& scope, std::function<void(project_memory::notes)> then) {
  if (!agent.reads_agents_md || agent.is_command() || !works_in_workspace(agent) || !runtime->project ||
      !runtime->output || !runtime->workspaces || !runtime->core.ask_fleet || project_key(agent, scope).empty())
    return then(nullptr);
  const auto first = std::make_shared<first_notes>(std::move(then));
  runtime->background_reads->run([runtime, agent, scope, first](store_reader&) {
    auto what = std::make_shared<notes_reading>();
    what->runtime = runtime;
    what->scope = scope;
    if (!find_place(*what, agent, scope)) return (*first)(nullptr);
    // A refused task ends on the controller's thread, which must not begin a turn.
    const auto listener = [runtime, first](const project_memory::notes& value) {
      runtime->background_reads->run([first, value](store_reader&) { (*first)(value); });
    };
    const auto reply = runtime->project->ask(what->where, runtime->core.now().boot, project_wait, listener);
    if (reply.what == project_memory::answer::kind::known) return (*first)(reply.value);
    runtime->background_reads->run_after(project_wait, [runtime, where = what->where, first](store_reader&) {
      (*first)(runtime->project->last(where));
    });
    if (reply.what == project_memory::answer::kind::waits) return;
    runtime->core.ask_fleet([what](const ledger&, const fleet& workers, moment now) -> std::function<void()> {
      const bool can_read = can_be_read_now(what->task.spec, workers, now);
      return [what, can_read] {
        what->runtime->background_reads->run([what, can_read](store_reader&) {
          if (can_read) return start_reading(what);
          what->runtime->project->done(what->where, what->runtime->core.now().boot, nullptr);
        });
      };
    });
  });
}

} // namespace quell::controller::turns
