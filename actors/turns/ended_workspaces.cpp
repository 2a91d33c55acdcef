// Removes the workspaces of turns that are over from their workers. A row stays until its directory is gone, so a
// removal that was cancelled, or lost with this process, is ordered again.
#include <unordered_set>

#include "actors/turns/operation_pages.hpp"
#include "actors/turns/turn_workspaces.hpp"
#include "actors/turns/workspace_tasks.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/create_local.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::hours clear_again{1};

const scope_path& removals_scope() {
  static const auto scope = *scope_path::parse("quell/workspaces");
  return scope;
}

/// Drops the row when the directory is gone. Another end of the removal leaves it to `clear_workspace_rows`.
class removal_watch final : public operation_watcher {
 public:
  removal_watch(std::shared_ptr<agent_runtime> runtime, std::string key)
      : runtime_(std::move(runtime)), key_(std::move(key)) {}
  void started(const std::string&) override {}
  void ended(const ended_operation& e) override {
    if (e.as != status::completed) return;
    runtime_->background_reads->run(
        [runtime = runtime_, key = key_](store_reader&) { runtime->workspaces->drop(key); });
  }

 private:
  const std::shared_ptr<agent_runtime> runtime_;
  const std::string key_;
};

using directories = std::unordered_set<std::string>;

std::string directory_to_remove(const workspace_row& row) {
  workspace_place place;
  place.name = row.name;
  place.remove = true;
  return place.text();
}

/// Those whose removal waits for its worker, or runs there. nullopt: the store cannot be read.
std::optional<directories> being_removed(store_reader& store) {
  operation_filter live;
  live.scopes = {removals_scope()};
  live.kinds = {kind::task};
  live.want_ended = false;
  directories found;
  const auto fault = for_each_operation(store, std::move(live), [&](operation_record& task) {
    if (task.task.cwd) found.insert(*task.task.cwd);
  });
  return fault ? std::nullopt : std::optional(std::move(found));
}

} // namespace

void remove_workspace_of_turn(const std::shared_ptr<agent_runtime>& runtime, const workspace_row& row) {
  create_order order;
  order.by = agent_runtime::acting_for({"quell", "quell"});
  order.kind = kind::task;
  order.scope = removals_scope();
  order.name = "true";
  order.title = "removes the workspace of a turn";
  order.task.command = {"true"};
  order.task.cwd = directory_to_remove(row);
  order.task.worker = row.worker;
  order.task.slots = 0;
  const auto id = operation_id::fresh();
  runtime->registry.add_watcher(id, std::make_shared<removal_watch>(runtime, row.key));
  runtime->core.execute({commands::create_local{std::move(order), id}, [runtime, id](const outcome<created>& made) {
                           if (!made) runtime->registry.drop(id); // tried again by clear_workspace_rows
                         }});
}

void clear_workspace_rows(const std::shared_ptr<agent_runtime>& runtime, store_reader& store) {
  const auto now = runtime->core.now().wall;
  const std::string prefix = key_of_turn("");
  const auto removals = being_removed(store);
  for (const auto& row : runtime->workspaces->all()) {
    if (!row.key.starts_with(prefix)) {
      const auto scope = scope_path::parse(row.key);
      if (row.keep.count() > 0 && now - row.used_at > 2 * row.keep &&
          !(scope && has_task_lately(row, *scope, store, now)))
        runtime->workspaces->drop(row.key);
      continue;
    }
    const auto turn = operation_id::parse(row.key.substr(prefix.size()));
    if (!turn) {
      runtime->workspaces->drop(row.key);
      continue;
    }
    const auto found = store.operation(*turn);
    // A task that still dies below a turn whose own work is over keeps the directory on the worker until it is gone.
    const bool is_over = found && (!*found || (*found)->hot.ended_at || (*found)->hot.self_status);
    if (is_over && removals && !removals->contains(directory_to_remove(row))) remove_workspace_of_turn(runtime, row);
  }
  runtime->background_reads->run_after(clear_again,
                                       [runtime](store_reader& again) { clear_workspace_rows(runtime, again); });
}

} // namespace quell::controller::turns
