// Keeps the turns that run or wait. Their queues are state of the core (controller/conversations.hpp).
#include "actors/turns/turn_scheduler.hpp"

#include "actors/turns/history_reading.hpp"
#include "actors/turns/left_questions.hpp"
#include "actors/turns/partial_text.hpp"
#include "actors/turns/real_turn_scheduler.hpp"
#include "actors/turns/start_agent.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/end_local.hpp"
#include "controller/commands/leave_turn.hpp"
#include "controller/commands/limit_slots.hpp"
#include "controller/commands/pick_up_turns.hpp"
#include "controller/commands/stop_local.hpp"
#include "integrations/search/search_client.hpp"

namespace quell::controller::turns {

turn_queue real_turn_scheduler::queue_of_turns() {
  return {[this](const operation_id& turn, const scope_path& scope) {
            const std::lock_guard lock(guard_);
            places_.emplace(turn, scope);
          },
          [this](std::shared_ptr<const first_turn> first) { begin(std::move(first)); }};
}

/// Its own work has ended: the next turn of its scope begins.
void real_turn_scheduler::leave(const operation_id& turn, const scope_path& scope) {
  runtime_->mcp->user_over(turn);
  {
    const std::lock_guard lock(guard_);
    running_.erase(turn);
    returning_.erase(turn);
    if (places_.erase(turn) == 0) return; // it has left already
  }
  // Also without an agent: an earlier life of this process can have begun the turn.
  std::make_shared<turn_workspaces>(runtime_, scope, turn)->over();
  runtime_->core.execute({commands::leave_turn{turn, scope}, [this, turn](const std::optional<queued>& next) {
                            runtime_->steering.over(turn);
                            if (next) begin(*next);
                          }});
}

/// The files of a turn are given up by its agent, which is cut first and so asks no model, or with its end.
void real_turn_scheduler::signal(const actor_signal& s) {
  runtime_->registry.signal(s);
  if (!is_on_its_way(s.operation)) {
    if (std::unique_lock lock(guard_); returning_.empty()) return;
    return runtime_->priority_reads->run(
        [this, stopped = s.operation](store_reader& store) { end_below_returning(stopped, store); });
  }
  // It has no agent yet that could end it, and waiting for tools can delay that agent. After a restart it can have
  // shown a text.
  runtime_->background_reads->run(
      [this, turn = s.operation](store_reader& store) { recover_texts(*runtime_, turn, store); });
  runtime_->core.execute(
      {commands::end_local{s.operation, {status::failed}, commands::end_local::reach::with_all_below}, {}});
}

/// A call or sub-agent of a turn that has no agent yet ends at once, as such a turn does.
void real_turn_scheduler::end_below_returning(const operation_id& stopped, store_reader& store) {
  auto row = store.operation(stopped);
  if (!row || !*row || ((*row)->kind != kind::tool_call && (*row)->kind != kind::sub_agent)) return;
  while (row && *row && (*row)->parent && !is_returning(*(*row)->parent)) row = store.operation(*(*row)->parent);
  if (!row || !*row || !(*row)->parent) return;
  using reach = commands::end_local::reach;
  runtime_->core.execute({commands::end_local{stopped, {status::failed}, reach::with_all_below}, {}});
}

void real_turn_scheduler::reload(turn_settings settings) {
  runtime_->core.execute({commands::limit_slots{slots_of_guilds(settings.chat)}, {}});
  runtime_->settings.set(std::move(settings));
  message_router_->reload();
}

bool real_turn_scheduler::is_on_its_way(const operation_id& turn) const {
  const std::lock_guard lock(guard_);
  return places_.contains(turn) && !running_.contains(turn);
}

void real_turn_scheduler::ended(const ended_operation& e) {
  runtime_->registry.ended(e);
  runtime_->questions.ended(e.id);
  editor_->ended(e.id);
  if (e.as != status::completed) runtime_->arriving.stop_of(e.id); // what steered another turn is still awaited there
  std::optional<scope_path> scope;
  {
    const std::lock_guard lock(guard_);
    const auto at = places_.find(e.id);
    if (at == places_.end() || running_.contains(e.id)) return;
    scope = at->second;
  }
  leave(e.id, *scope); // stopped before it began
}

void real_turn_scheduler::find_cancel(cancel_id id, reply<result<bool>> done) {
  runtime_->priority_reads->run([id, done = std::move(done)](store_reader& store) {
    const auto known = store.cancel(id);
    if (!known) return done(tl::unexpected(known.error()));
    done(known->has_value());
  });
}

void real_turn_scheduler::find_message(std::vector<scope_path> scopes, std::string client_id,
                                       reply<result<std::optional<records::message_record>>> done) {
  runtime_->priority_reads->run(
      [scopes = std::move(scopes), client_id = std::move(client_id), done = std::move(done)](store_reader& store) {
        for (const auto& scope : scopes) {
          auto found = with_newest_edit(store, scope, client_id);
          if (!found || *found) return done(std::move(found));
        }
        done(std::optional<records::message_record>{});
      });
}

void real_turn_scheduler::disconnected(operation_id turn) {
  runtime_->core.execute({commands::stop_local{{turn}, stop_cause::disconnect}, {}});
}

std::optional<turn_now> real_turn_scheduler::look(const operation_id& turn) const {
  std::shared_ptr<turn_port> port;
  {
    const std::lock_guard lock(guard_);
    if (const auto returns = returning_.find(turn); returns != returning_.end()) {
      turn_now now;
      now.usage = returns->second.usage;
      now.model_calls = returns->second.calls;
      return now;
    }
    const auto at = running_.find(turn);
    if (at == running_.end()) return std::nullopt;
    port = at->second;
  }
  return port->tokens_of();
}

/// After a restart: in the order in which they were requested. They enter the queues before any new message, so that
/// none overtakes them.
void real_turn_scheduler::pick_up() {
  message_router_->pick_up();
  const auto enter = [this](const commands::picked_up& found) {
    const std::lock_guard lock(guard_);
    for (const auto& q : found.open) places_.emplace(q.turn, q.scope);
    for (const auto& [turn, used] : found.used) returning_.emplace(turn, used);
  };
  const auto go_on = [this](const commands::picked_up& found) {
    runtime_->background_reads->run(
        [this, first = found.first, open = found.open, gone = found.interrupted](store_reader& store) {
          std::vector<operation_id> turns;
          for (const auto& q : open) turns.push_back(q.turn);
          await_clients(runtime_, clients_, turns, store);
          for (const auto& q : open) recall_steering(q, store);
          for (const auto& id : gone) {
            recover_partial_text(*runtime_, id, store);
            std::make_shared<turn_workspaces>(runtime_, scope_path(), id)->over();
          }
          for (const auto& q : first) begin(q);
        });
  };
  runtime_->core.execute({commands::pick_up_turns{}, go_on, enter});
}

/// After a restart: a turn that waits can steer the one that goes on. If that one steered another turn itself before it
/// began, it takes those that waited with it (`steering_table::begins`).
void real_turn_scheduler::recall_steering(const queued& waiting, store_reader& store) {
  const auto row = store.operation(waiting.turn);
  if (!row || !*row) return;
  if (const auto steered = steered_by((*row)->kind_data)) runtime_->steering.add(*steered, waiting.turn);
}

void real_turn_scheduler::stop() {
  message_router_->stop();
  runtime_->priority_reads->stop();
  runtime_->speech_work->stop();
  runtime_->background_reads->stop();
  for (const auto& agent : runtime_->registry.agents()) agent->die();
  runtime_->mcp->end();
  if (runtime_->searches) runtime_->searches->stop();
  std::unique_ptr<integrations::model_client> models; // destroyed after the lock is released
  const std::lock_guard lock(runtime_->models_guard);
  models.swap(runtime_->models);
}

/// A voice session ends with its process. Its recogniser does not: it is nobody's child, its worker keeps it, and it
/// would wait for sound for ever. Read before this life has any of its own.
static std::vector<operation_id> left_recognisers(store_reader& store) {
  records::operation_filter live;
  live.scopes = {*scope_path::parse("quell/voice")};
  live.want_ended = false;
  live.limit = 1'000;
  std::vector<operation_id> left;
  if (const auto rows = store.operations(live))
    for (const auto& row : *rows) left.push_back(row.id);
  return left;
}

result<std::unique_ptr<turn_scheduler>> turn_scheduler::start(turn_scheduler_options o) {
  auto runtime = std::make_shared<agent_runtime>();
  std::vector<operation_id> left;
  std::unique_ptr<blocking_executor> repeats;
  for (auto* each : {&runtime->background_reads, &runtime->priority_reads, &runtime->speech_work, &repeats}) {
    auto store = o.open_store();
    if (!store) return tl::unexpected(store.error());
    if (each == &runtime->background_reads) left = left_recognisers(**store);
    if (each == &runtime->background_reads && o.has_live_calls) read_left_questions(**store, runtime->questions);
    *each = o.executor(std::move(*store));
  }
  auto models = integrations::model_client::make();
  if (!models) return tl::unexpected(models.error());
  runtime->models = std::move(*models);
  runtime->core = std::move(o.core);
  runtime->output = o.output;
  runtime->blobs = o.blobs;
  runtime->settings.set(std::move(o.settings));
  runtime->spawn = std::move(o.spawn);
  runtime->loop = std::move(o.loop);
  runtime->tell_live = std::move(o.tell_live);
  auto accounts = mcp_accounts::open(o.state_directory, runtime->settings->mcp);
  if (!accounts) return tl::unexpected(accounts.error());
  runtime->mcp = o.mcp({runtime, std::move(*accounts), remote_ids(o.secret_key)});
  auto allowed = standing_rules::open(o.state_directory);
  if (!allowed) return tl::unexpected(allowed.error());
  runtime->allowed = std::move(*allowed);
  auto rows = workspace_rows::open(o.state_directory);
  if (!rows) return tl::unexpected(rows.error());
  runtime->workspaces = std::move(*rows);
  runtime->project = std::make_shared<project_memory>();
  runtime->searches = std::make_shared<integrations::search_client>();
  runtime->background_reads->run([runtime](store_reader& store) { clear_workspace_rows(runtime, store); });
  if (!left.empty()) runtime->core.execute({commands::stop_local{std::move(left), stop_cause::superseded}, {}});
  return make(std::move(runtime), std::move(repeats));
}

std::unique_ptr<turn_scheduler> turn_scheduler::make(std::shared_ptr<agent_runtime> runtime,
                                                     std::unique_ptr<blocking_executor> repeats) {
  auto made = std::make_unique<real_turn_scheduler>(runtime, std::move(repeats));
  // Also hands the objects made here over to the thread of background reads.
  runtime->background_reads->run([runtime](store_reader& store) {
    clear_mcp_leftovers(*runtime, store);
    runtime->mcp->read_cards();
  });
  made->pick_up();
  return made;
}

} // namespace quell::controller::turns
