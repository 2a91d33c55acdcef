// The session loop's part in workspaces: a task enters one before it is spawned, and leaves it when it is proven gone.
#include "worker/clocks.hpp"
#include "worker/session_loop.hpp"

namespace quell::worker {

bool session_loop::enter_workspace(wire::start& order, const account_table::entry* as, spawn_request& r) {
  const auto parsed = order.spec.cwd ? workspace_place::parse(*order.spec.cwd) : std::nullopt;
  if (!parsed) return true;
  const auto refuse = [&](const fault& why) {
    effects list;
    table_.spawn_refused(order.operation, why.detail, now(), list, why.code);
    perform(list);
    return false;
  };
  if (!*parsed) return refuse(parsed->error());
  const auto& place = **parsed;
  const auto& why_not = guardian_->report().no_workspaces;
  if (!settings_.spaces || !why_not.empty())
    return refuse(failure_of(failure_code::workspace_isolation,
                             "this worker cannot keep the workspaces of conversations apart: " + why_not));
  std::optional<task_account> account;
  if (as) account = as->account;
  auto entered = settings_.spaces->begin(order.operation, place, account);
  if (!entered) return refuse(entered.error());
  r.directory = "/";
  if (!*entered) return true; // it only ends the workspace
  r.workspace = std::move(**entered);
  if (place.below.empty())
    r.directory = workspace_mount;
  else
    r.directory = place.below.front() == '/' ? place.below : std::string(workspace_mount) + "/" + place.below;
  order.spec.env.try_emplace("HOME", workspace_mount);
  order.spec.env.try_emplace("TMPDIR", "/tmp");
  return true;
}

void session_loop::note_end_in_workspace(const guardian_event& event) {
  if (!settings_.spaces) return;
  if (const auto* ended = std::get_if<task_ended_here>(&event)) settings_.spaces->ended(ended->operation);
  if (const auto* failed = std::get_if<task_spawn_failed>(&event)) settings_.spaces->ended(failed->operation);
}

void session_loop::end_filling_tasks() {
  if (!settings_.spaces) return;
  effects list;
  for (auto& one : settings_.spaces->take_filling()) table_.exceed(one.task, std::move(one.why), now(), list);
  perform(list);
}

} // namespace quell::worker
