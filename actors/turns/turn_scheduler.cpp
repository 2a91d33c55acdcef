// Begins the turns whose time has come. Their queues are state of the core (controller/conversations.hpp).
#include "actors/turns/turn_scheduler.hpp"
#include <spdlog/spdlog.h>

#include <algorithm>
#include <unordered_map>

#include "actors/turns/approvers.hpp"
#include "actors/turns/background.hpp"
#include "actors/turns/budget_json.hpp"
#include "actors/turns/decisions.hpp"
#include "actors/turns/history.hpp"
#include "actors/turns/history_reading.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/message_router.hpp"
#include "actors/turns/partial_text.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/start_agent.hpp"
#include "controller/commands/command.hpp"

namespace quell::controller::turns {

namespace {

class real_turn_scheduler final : public turn_scheduler {
 public:
  real_turn_scheduler(std::shared_ptr<agent_runtime> runtime, std::unique_ptr<blocking_executor> repeats)
      : runtime_(std::move(runtime)),
        message_router_(std::make_shared<message_router>(runtime_, std::move(repeats), queue_of_turns())) {}
  ~real_turn_scheduler() override { runtime_->who.forget_all(); }

  void take(message_order order, reply<outcome<message_answer>> done) override {
    message_router_->take(std::move(order), std::move(done));
  }
  void decide(operation_id call, decision d, reply<outcome<operation_id>> done) override {
    decide_call(runtime_, call, std::move(d), std::move(done));
  }
  void answer(operation_id call, human_answer given, reply<outcome<operation_id>> done) override {
    answer_question(runtime_, call, std::move(given), std::move(done));
  }
  void decide_in_chat(operation_id call, decision d, scope_path place, std::string account,
                      reply<outcome<operation_id>> done) override {
    turns::decide_in_chat(runtime_, call, std::move(d), std::move(place), std::move(account), std::move(done));
  }
  bool may_decide(const std::string& token) const override {
    return is_approving_token(runtime_->settings->chat, token);
  }
  void find_cancel(cancel_id id, reply<result<bool>> done) override;
  void disconnected(operation_id turn) override;
  std::optional<turn_now> look(const operation_id& turn) const override;
  void signal(const actor_signal& s) override;
  void ended(const ended_operation& e) override;
  void on_event(const records::event_record& e) override {
    if (e.type == "cancel_settled" && e.cancel) message_router_->settled(*e.cancel);
    if (e.type == "operation_started" && e.operation && e.worker) runtime_->who.started(*e.operation, *e.worker);
  }
  std::shared_ptr<agent_runtime> runtime() override { return runtime_; }
  mcp_accounts* accounts() override { return &runtime_->mcp->accounts(); }
  void reload(turn_settings settings) override {
    runtime_->settings.set(std::move(settings));
    message_router_->reload();
  }
  void stop() override;
  void pick_up();

 private:
  using queued = queued_turn;
  void begin(const queued& next);
  void prepare(const queued& next, store_reader& store);
  void prepare_with(const queued& next, const records::operation_record& row, const stored_history& history,
                    history_facts facts, store_reader& store);
  void launch(const queued& next, const records::operation_record& row, model_history for_model, tool_set tools);
  void give_up(const queued& next, const std::string& why, const own_outcome& how);
  void give_up(const queued& next, const std::string& why) {
    give_up(next, why, {status::failed, records::operation_error{"error", why}});
  }
  void leave(const operation_id& turn, const scope_path& scope);
  bool is_on_its_way(const operation_id& turn) const;
  std::optional<agent_settings> agent_of(const records::operation_record& row) const;

  turn_queue queue_of_turns();
  std::shared_ptr<agent_runtime> runtime_;
  std::shared_ptr<message_router> message_router_;
  mutable std::mutex guard_;
  std::unordered_map<operation_id, scope_path> places_; ///< of queued turns
  std::unordered_map<operation_id, std::shared_ptr<turn_port>> running_;
};

turn_queue real_turn_scheduler::queue_of_turns() {
  return {[this](const operation_id& turn, const scope_path& scope) {
            const std::lock_guard lock(guard_);
            places_.emplace(turn, scope);
          },
          [this](const operation_id& turn, const scope_path& scope) {
            begin({turn, scope, false});
          }};
}

void real_turn_scheduler::begin(const queued& next) {
  runtime_->background_reads->run([this, next](store_reader& store) { prepare(next, store); });
}

std::optional<agent_settings> real_turn_scheduler::agent_of(const records::operation_record& row) const {
  const auto now = runtime_->settings.get();
  const auto* agent = agent_for(*now, row.scope, row.name);
  return agent ? std::optional(*agent) : std::nullopt;
}

void real_turn_scheduler::prepare(const queued& next, store_reader& store) {
  auto row = store.operation(next.turn);
  if (!row || !*row) return give_up(next, row ? "its row is not there" : row.error().detail);
  if (!agent_of(**row)) return give_up(next, "its agent " + (*row)->name + " is not configured any more");
  auto history = read_history(store, next.scope, next.turn);
  if (!history) return give_up(next, history.error().detail);
  auto open = open_turns(history->kept, next.turn, store);
  if (open.empty()) return prepare_with(next, **row, *history, facts_of(history->kept, next.turn, store), store);
  // A stop that the disk has refused so far is one all the same: the ledger knows it.
  runtime_->core.beyond_disk(
      std::move(open), [this, next, row = std::move(**row), history = std::move(*history)](known_ends known) mutable {
        runtime_->background_reads->run([this, next, row = std::move(row), history = std::move(history),
                                         known = std::move(known)](store_reader& again) {
          prepare_with(next, row, history, facts_of(history.kept, next.turn, again, known), again);
        });
      });
}

void real_turn_scheduler::prepare_with(const queued& next, const records::operation_record& row,
                                       const stored_history& history, history_facts facts, store_reader& store) {
  if (runtime_->output) find_printed(facts, history.kept, store, *runtime_->output);
  auto for_model = history_for(history.kept, next.turn, facts, history.gap_behind);
  if (for_model.messages.empty()) return give_up(next, "its message is not there");
  put_before_message(for_model, context_of(row.kind_data));
  put_note_before_message(for_model, background_note(history.kept, row, store, runtime_->core.now().wall));
  const auto what = is_refused_stop(next.turn, history.kept) ? turn_of::refused_stop : turn_of::message;
  runtime_->core.execute({commands::note_turn_begun{next.turn, row.owner.id, next.scope, what}, {}});
  const auto agent = agent_of(row);
  if (!agent) return give_up(next, "its agent " + row.name + " is not configured any more");
  find_tools(runtime_, *agent, {next.turn, next.turn, row.owner},
             [this, next, row, for_model = std::move(for_model)](tool_set tools) mutable {
               if (!tools.note.empty()) spdlog::warn("turn {}: {}", next.turn.text(), tools.note);
               launch(next, row, std::move(for_model), std::move(tools));
             });
}

void real_turn_scheduler::launch(const queued& next, const records::operation_record& row, model_history for_model,
                                 tool_set tools) {
  // A reload can come between any two of these steps.
  const auto agent = agent_of(row);
  auto model = agent ? model_of(*runtime_->settings.get(), *agent) : std::nullopt;
  if (!model) return give_up(next, "its agent " + row.name + " is not configured any more");
  agent_context who;
  who.operation = next.turn;
  who.root = row.root;
  who.scope = row.scope;
  who.owner = row.owner;
  who.kind_data = row.kind_data;
  who.is_by_chat = is_by_chat(row.kind_data);
  who.agent = *agent;
  who.agent.instructions += tools.notice;
  who.model = std::move(*model);
  who.tools = std::move(tools);
  const auto limits = budget_of(row.kind_data).value_or(limits_of(agent->budget, {}));
  who.tree = std::make_shared<turn_tree>(next.turn, limits, agent->budget.width);
  commands::begin_turn step{next.turn, for_model.last, {}};
  if (!next.resumes) {
    auto started_text = turn_started(who.operation, who.kind_data);
    step.started_event = agent_runtime::event_of(who, std::move(started_text.type), std::move(started_text.data));
  }
  const auto over = [this, next](const commands::turn_begun& begun) {
    if (!begun.may_run) leave(next.turn, next.scope);
  };
  // At once, not after the commit, because a stop must find the agent. Nothing that the agent does leaves before it is
  // durable.
  auto begins = [this, next, who = std::move(who),
                 for_model = std::move(for_model)](const commands::turn_begun& begun) mutable {
    if (!begun.may_run) return;
    who.began = begun.began;
    actors::agent_start start;
    start.so_far = std::move(for_model.messages);
    start.resumes = !for_model.calls.empty();
    start.known = std::move(for_model.known);
    start.calls = std::move(for_model.calls);
    start.past = std::move(for_model.past);
    auto running = start_agent(runtime_, std::move(who), std::move(start),
                               [this, next](bool broken, const std::shared_ptr<turn_port>&) {
                                 if (broken) give_up(next, "its actor broke down", broken_end());
                                 leave(next.turn, next.scope);
                               });
    for (const auto& call : begun.stopped) running.handle->stop_call(call, {});
    const std::lock_guard lock(guard_);
    running_[next.turn] = running.port;
  };
  runtime_->core.execute({std::move(step), over, std::move(begins)});
}

/// Ends a turn that cannot continue as failed.
void real_turn_scheduler::give_up(const queued& next, const std::string& why, const own_outcome& how) {
  spdlog::error("turn {} in scope {} cannot run: {}", next.turn.text(), next.scope.text(), why);
  runtime_->core.execute({commands::end_local{next.turn, how}, [this, next](bool) { leave(next.turn, next.scope); }});
}

/// Its own work has ended: the next turn of its scope begins.
void real_turn_scheduler::leave(const operation_id& turn, const scope_path& scope) {
  runtime_->mcp->user_over(turn);
  {
    const std::lock_guard lock(guard_);
    running_.erase(turn);
    if (places_.erase(turn) == 0) return; // it has left already
  }
  runtime_->core.execute({commands::leave_turn{turn, scope}, [this](const std::optional<queued>& next) {
                            if (next) begin(*next);
                          }});
}

void real_turn_scheduler::signal(const actor_signal& s) {
  runtime_->who.signal(s);
  if (!is_on_its_way(s.operation)) return;
  // It has no agent yet that could end it, and waiting for tools can delay that agent.
  runtime_->core.execute({commands::end_local{s.operation, {status::failed}}, {}});
}

bool real_turn_scheduler::is_on_its_way(const operation_id& turn) const {
  const std::lock_guard lock(guard_);
  return places_.contains(turn) && !running_.contains(turn);
}

void real_turn_scheduler::ended(const ended_operation& e) {
  runtime_->who.ended(e);
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

void real_turn_scheduler::disconnected(operation_id turn) {
  runtime_->core.execute({commands::stop_local{{turn}, stop_cause::disconnect}, {}});
}

std::optional<turn_now> real_turn_scheduler::look(const operation_id& turn) const {
  std::shared_ptr<turn_port> port;
  {
    const std::lock_guard lock(guard_);
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
  };
  const auto go_on = [this](const commands::picked_up& found) {
    runtime_->background_reads->run([this, first = found.first, gone = found.interrupted](store_reader& store) {
      for (const auto& id : gone) recover_partial_text(*runtime_, id, store);
      for (const auto& q : first) begin(q);
    });
  };
  runtime_->core.execute({commands::pick_up_turns{}, go_on, enter});
}

void real_turn_scheduler::stop() {
  message_router_->stop();
  runtime_->priority_reads->stop();
  runtime_->background_reads->stop();
  for (const auto& agent : runtime_->who.agents()) agent->die();
  runtime_->mcp->end();
  std::unique_ptr<integrations::model_client> models; // destroyed after the lock is released
  const std::lock_guard lock(runtime_->models_guard);
  models.swap(runtime_->models);
}

} // namespace

result<std::unique_ptr<turn_scheduler>> turn_scheduler::start(turn_scheduler_options o) {
  auto runtime = std::make_shared<agent_runtime>();
  auto later = blocking_executor::open(o.open_store);
  if (!later) return tl::unexpected(later.error());
  runtime->background_reads = std::move(*later);
  auto lookups = blocking_executor::open(o.open_store);
  if (!lookups) return tl::unexpected(lookups.error());
  runtime->priority_reads = std::move(*lookups);
  auto repeats = blocking_executor::open(o.open_store);
  if (!repeats) return tl::unexpected(repeats.error());
  auto models = integrations::model_client::make();
  if (!models) return tl::unexpected(models.error());
  runtime->models = std::move(*models);
  runtime->core = std::move(o.core);
  runtime->output = o.output;
  runtime->settings.set(std::move(o.settings));
  runtime->spawn = std::move(o.spawn);
  runtime->tell_live = std::move(o.tell_live);
  auto accounts = mcp_accounts::open(o.state_directory, runtime->settings->mcp);
  if (!accounts) return tl::unexpected(accounts.error());
  runtime->mcp = mcp_host::make(runtime, std::move(*accounts));
  return make(std::move(runtime), std::move(*repeats));
}

std::unique_ptr<turn_scheduler> turn_scheduler::make(std::shared_ptr<agent_runtime> runtime,
                                                     std::unique_ptr<blocking_executor> repeats) {
  auto made = std::make_unique<real_turn_scheduler>(runtime, std::move(repeats));
  // Also hands the objects made here over to the thread of background reads.
  runtime->background_reads->run([host = runtime->mcp](store_reader& store) { host->clear_leftovers(store); });
  made->pick_up();
  return made;
}

} // namespace quell::controller::turns
