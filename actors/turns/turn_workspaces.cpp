// Rows are read and written as background reads; the fleet is asked on the controller's thread.
#include "actors/turns/turn_workspaces.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/turns/workspace_tasks.hpp"
#include "protocol/note.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::milliseconds choose_again{500}, longest_choose_again{2'000};
constexpr std::chrono::seconds longest_ask{10}; ///< the controller's thread answers much sooner
/// A row is written again when its last use is older than this part of its time.
constexpr int parts_of_keep = 20;

std::string gone_text(const workspace_row& row) {
  return "The workspace of this conversation is new and empty. The files of before are gone: " + row.lost + ".";
}

std::string note_of(const workspace_row& row) { return row.lost.empty() || row.used ? "" : note(gone_text(row)); }

} // namespace

struct turn_workspaces::job {
  agent_settings agent;
  task_spec spec;
  std::optional<operation_id> call; ///< absent: only a look
  std::function<void(result<task_spec>)> then;
  std::function<void(std::string)> note;
  std::optional<workspace_row> seen;
  bool is_in_use = false; ///< by tasks, as it was seen once: a worker that has removed it nevertheless says so
  int waits = 0;
};

std::string turn_workspaces::key_of(workspace_mode mode) const {
  return mode == workspace_mode::per_turn ? key_of_turn(turn_.text()) : scope_.text();
}

std::shared_ptr<workspace_placer> turn_workspaces::placer(const agent_settings& agent) {
  if (agent.mode == workspace_mode::shared || !runtime_->workspaces || !runtime_->core.ask_fleet) return nullptr;
  if (agent.mode == workspace_mode::per_turn) runtime_->workspaces->expect_of_turns();
  return std::make_shared<workspace_placer>(shared_from_this(), agent);
}

void turn_workspaces::look(const agent_settings& agent, std::function<void(std::string)> then) {
  if (agent.mode != workspace_mode::per_scope || !runtime_->workspaces || !runtime_->core.ask_fleet) return then({});
  if (!runtime_->workspaces->find(scope_.text())) return then({});
  auto what = std::make_shared<job>();
  what->agent = agent;
  what->note = std::move(then);
  attempt(what);
}

void turn_workspaces::attempt(const std::shared_ptr<job>& what) {
  runtime_->background_reads->run([self = shared_from_this(), what](store_reader& store) {
    what->seen = self->runtime_->workspaces->find(self->key_of(what->agent.mode));
    workspace_need need;
    const auto wall = self->runtime_->core.now().wall;
    if (what->seen && is_due_for_removal(*what->seen, wall + longest_ask) && !what->is_in_use)
      what->is_in_use = has_task_lately(*what->seen, self->scope_, store, wall);
    need.is_in_use = what->is_in_use;
    need.key = self->key_of(what->agent.mode);
    need.scope = self->scope_;
    need.mark = operation_id::fresh().text();
    need.worker = what->agent.worker;
    need.on = what->agent.on;
    need.wanted_worker = what->call ? what->spec.worker : need.worker;
    need.wanted_on = what->call ? what->spec.on : need.on;
    need.keep = what->agent.workspace_retention;
    need.is_turn_start = !what->call;
    self->runtime_->core.ask_fleet([self, what, need](const ledger& l, const fleet& workers, moment now) {
      auto choice = choose_workspace(what->seen, need, workers, now);
      bool is_stopped = false;
      if (what->call) {
        const auto call = l.view(*what->call, now);
        is_stopped = !call || call->hot.now == status::cancelling;
      }
      return std::function<void()>([self, what, choice = std::move(choice), is_stopped] {
        self->runtime_->background_reads->run(
            [self, what, choice, is_stopped](store_reader&) { self->decided(what, choice, is_stopped); });
      });
    });
  });
}

void turn_workspaces::decided(const std::shared_ptr<job>& what, const workspace_choice& choice, bool is_stopped) {
  using kind = workspace_choice::kind;
  const auto refuse = [&](const fault& why) { what->then(tl::unexpected(why)); };
  auto row = choice.row;
  const auto now = runtime_->core.now().wall;
  const auto present = runtime_->workspaces->find(key_of(what->agent.mode));
  const bool has_moved = (present ? present->name : "") != (what->seen ? what->seen->name : "");
  if (has_moved && (choice.what == kind::fresh || choice.what == kind::use)) return attempt(what);
  const bool is_old = choice.what == kind::use && what->call && now - row.used_at > row.keep / parts_of_keep;
  if (is_old) row.used_at = now;
  if (choice.what == kind::use && present) row.used = present->used;
  if (is_old || choice.what == kind::fresh) {
    if (auto done = runtime_->workspaces->put(row); !done) {
      if (!what->call) return what->note({});
      return refuse(done.error());
    }
  }
  if (choice.what == kind::fresh) spdlog::info("the workspace of {} is {} on worker {}", row.key, row.name, row.worker);
  if (!what->call) return what->note(choice.what == kind::use || choice.what == kind::fresh ? note_of(row) : "");
  if (choice.what == kind::refuse) return refuse(choice.why);
  if (choice.what == kind::wait) {
    if (is_stopped)
      return refuse(failure_of(failure_code::cancelled, "the call was stopped before a worker was there"));
    // Many conversations can wait for one worker.
    return runtime_->background_reads->run_after(
        std::min(choose_again * ++what->waits, longest_choose_again),
        [self = shared_from_this(), what](store_reader&) { self->attempt(what); });
  }
  // In the middle of a turn the call itself tells the model; the next one works in the new workspace.
  if (choice.what == kind::fresh && !row.lost.empty())
    return refuse(failure_of(failure_code::workspace_gone, "nothing was started: " + gone_text(row)));
  workspace_place place;
  place.name = row.name;
  place.must_exist = row.used;
  place.quota_bytes = what->agent.workspace_quota;
  place.keep = row.keep;
  place.below = workspace_place::below_in(what->spec.cwd.value_or(""));
  what->spec.cwd = place.text();
  what->spec.worker = row.worker;
  what->then(std::move(what->spec));
}

void turn_workspaces::change(workspace_mode mode, const std::function<void(workspace_row&)>& how) {
  runtime_->background_reads->run([self = shared_from_this(), mode, how](store_reader&) {
    auto row = self->runtime_->workspaces->find(self->key_of(mode));
    if (!row) return;
    const auto before = *row;
    how(*row);
    if (before == *row) return;
    if (auto done = self->runtime_->workspaces->put(*row); !done) spdlog::warn("{}", done.error().detail);
  });
}

void turn_workspaces::over() {
  if (!runtime_->workspaces || !runtime_->workspaces->has_of_turns()) return;
  runtime_->background_reads->run([self = shared_from_this()](store_reader&) {
    const auto row = self->runtime_->workspaces->find(key_of_turn(self->turn_.text()));
    if (row) remove_workspace_of_turn(self->runtime_, *row);
  });
}

void workspace_placer::place(task_spec spec, const operation_id& call,
                             std::function<void(result<task_spec>)> then) const {
  auto what = std::make_shared<turn_workspaces::job>();
  what->agent = agent_;
  what->spec = std::move(spec);
  what->call = call;
  what->then = std::move(then);
  of_->attempt(what);
}

void workspace_placer::began(const task_spec& placed) const {
  of_->change(agent_.mode, [cwd = placed.cwd](workspace_row& row) {
    if (is_in(row, cwd)) row.used = true;
  });
}

void workspace_placer::ended(const task_spec& placed, const std::string& code, bool has_run) const {
  const auto now = of_->runtime_->core.now().wall;
  if (code != name_of(failure_code::workspace_gone))
    return of_->change(agent_.mode, [now, has_run, cwd = placed.cwd](workspace_row& row) {
      if (!is_in(row, cwd)) return;
      row.used = row.used || has_run;
      if (now - row.used_at > row.keep / parts_of_keep) row.used_at = now;
    });
  of_->change(agent_.mode, [this_scope = of_->scope_, cwd = placed.cwd](workspace_row& row) {
    if (!is_in(row, cwd)) return; // another call of the same answer was first
    row.name = workspace_name(this_scope, operation_id::fresh().text());
    row.lost = "worker " + row.worker + " has them no longer";
    row.used = false;
  });
}

void note_workspace_use(const std::shared_ptr<agent_runtime>& runtime, const scope_path& scope,
                        const std::optional<std::string>& cwd) {
  auto row = runtime->workspaces->find(scope.text());
  const auto now = runtime->core.now().wall;
  if (!row || !is_in(*row, cwd) || now - row->used_at <= row->keep / parts_of_keep) return;
  row->used_at = now;
  if (auto done = runtime->workspaces->put(*row); !done) spdlog::warn("{}", done.error().detail);
}

} // namespace quell::controller::turns
