// Brings a turn to its agent: its conversation, workspace, notes and tools, then one command. A stop can come at each
// step.
#include <spdlog/spdlog.h>

#include "actors/turns/background.hpp"
#include "actors/turns/budget_json.hpp"
#include "actors/turns/guarded_step.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/message_choice.hpp"
#include "actors/turns/partial_text.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/project_reading.hpp"
#include "actors/turns/real_turn_scheduler.hpp"
#include "actors/turns/start_agent.hpp"
#include "controller/commands/begin_turn.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/end_local.hpp"
#include "controller/commands/note_turn_begun.hpp"
#include "controller/commands/stop_local.hpp"
#include "controller/token_shares.hpp"

namespace quell::controller::turns {

namespace {

std::string no_agent(const records::operation_record& row) {
  const auto choice = choice_of(row.kind_data);
  return "its agent " + row.name +
         (choice.model ? ", or the model " + *choice.model + " that its message asked for," : "") +
         " is not configured any more";
}

/// Why no turn begins in this scope now; "" = nothing is against it.
std::string why_closed(const turn_settings& settings, const scope_path& scope) {
  const auto* place = closed_by(settings.chat, scope);
  return place ? "[[place]] \"" + place->scope.text() + "\" does not list its channel in channels any more" : "";
}

} // namespace

void real_turn_scheduler::begin(const queued& next) {
  runtime_->background_reads->run([this, next](store_reader& store) {
    const auto row = store.operation(next.turn);
    if (!row || !*row) return give_up(next, row ? "its row is not there" : row.error().detail);
    prepare(next, **row, read_history(store, next.scope, next.turn), false, store);
  });
}

/// Its rows can still be on their way to the disk, so they are not read.
void real_turn_scheduler::begin(std::shared_ptr<const first_turn> first) {
  runtime_->background_reads->run([this, first = std::move(first)](store_reader& store) {
    prepare({first->row.id, first->row.scope, false}, first->row, read_history_behind(store, first->message), true,
            store);
  });
}

std::optional<agent_settings> real_turn_scheduler::agent_of(const records::operation_record& row) const {
  const auto now = runtime_->settings.get();
  const auto* agent = agent_for(*now, row.scope, row.name);
  return agent ? still_chosen(*agent, choice_of(row.kind_data)) : std::nullopt;
}

void real_turn_scheduler::prepare(const queued& next, const records::operation_record& row,
                                  result<stored_history> history, bool is_noted, store_reader& store) {
  if (!agent_of(row)) return give_up(next, no_agent(row));
  if (const auto why = why_closed(*runtime_->settings.get(), next.scope); !why.empty() && !next.resumes)
    return give_up(next, why);
  if (!history) return give_up(next, history.error().detail);
  auto open = open_turns(history->kept, next.turn, store);
  if (open.empty())
    return prepare_with(next, row, *history, facts_of(history->kept, next.turn, store), is_noted, store);
  // A stop that the disk has refused so far is one all the same: the ledger knows it.
  runtime_->core.beyond_disk(
      std::move(open), [this, next, row, history = std::move(*history), is_noted](known_ends known) mutable {
        runtime_->background_reads->run([this, next, row = std::move(row), history = std::move(history), is_noted,
                                         known = std::move(known)](store_reader& again) {
          prepare_with(next, row, history, facts_of(history.kept, next.turn, again, known), is_noted, again);
        });
      });
}

void real_turn_scheduler::prepare_with(const queued& next, const records::operation_record& row,
                                       const stored_history& history, history_facts facts, bool is_noted,
                                       store_reader& store) {
  if (runtime_->output) find_printed(facts, history.kept, store, *runtime_->output);
  const auto last_steered = runtime_->steering.begins(next.turn);
  for (const auto& steered : {steered_by(row.kind_data), last_steered}) {
    // Nobody is told what would have steered a turn that was cancelled.
    const auto end = steered && !next.resumes ? facts.turns.find(*steered) : facts.turns.end();
    if (end != facts.turns.end() && end->second.as == turn_ending::how::cancelled)
      return runtime_->core.execute({commands::stop_local{{next.turn}, stop_cause::parent_ended}, {}});
  }
  auto for_model = history_for(history.kept, next.turn, facts, history.gap_behind);
  if (for_model.messages.empty()) return give_up(next, "its message is not there");
  put_before_message(for_model, context_of(row.kind_data));
  put_note_before_message(for_model, background_note(history.kept, row, store, runtime_->core.now().wall));
  std::optional<left_work> left;
  if (next.resumes) {
    auto read = read_left_work(store, row, for_model);
    if (!read) return give_up(next, read.error().detail);
    left = std::move(*read);
  }
  if (!is_noted) {
    const auto what = is_refused_stop(next.turn, history.kept) ? turn_of::refused_stop : turn_of::message;
    const auto way = is_by_chat(row.kind_data) ? brought_by::chat : brought_by::person;
    runtime_->core.execute({commands::note_turn_begun{next.turn, row.owner.id, next.scope, what, row.name, way}, {}});
  }
  const auto agent = agent_of(row);
  if (!agent) return give_up(next, no_agent(row));
  const auto workspaces = std::make_shared<turn_workspaces>(runtime_, row.scope, next.turn);
  workspaces->look(*agent, [this, agent, next, row, workspaces, for_model = std::move(for_model),
                            left = std::move(left)](const std::string& gone) mutable {
    put_note_before_message(for_model, gone);
    find_project_notes(runtime_, *agent, row.scope,
                       [this, agent, next, row, workspaces, for_model = std::move(for_model),
                        left = std::move(left)](const project_memory::notes& project) mutable {
                         find_tools(runtime_, *agent, {next.turn, next.turn, row.owner},
                                    [this, next, row, workspaces, project, for_model = std::move(for_model),
                                     left = std::move(left)](tool_set tools) mutable {
                                      if (!tools.note.empty())
                                        spdlog::warn("turn {}: {}", next.turn.text(), tools.note);
                                      run_guarded(
                                          "the start of turn " + next.turn.text(),
                                          [&] {
                                            launch(next, row, std::move(for_model), left, std::move(tools), workspaces,
                                                   project);
                                          },
                                          [&] { give_up(next, "its start broke down", broken_end()); });
                                    });
                       });
  });
}

void real_turn_scheduler::launch(const queued& next, const records::operation_record& row, model_history for_model,
                                 const std::optional<left_work>& left, tool_set tools,
                                 std::shared_ptr<turn_workspaces> workspaces, const project_memory::notes& project) {
  // A reload can come between any two of these steps.
  const auto agent = agent_of(row);
  auto model = agent ? model_of(*runtime_->settings.get(), *agent) : std::nullopt;
  if (!model) return give_up(next, no_agent(row));
  agent_context who;
  who.operation = next.turn;
  who.root = row.root;
  who.scope = row.scope;
  who.owner = row.owner;
  if (is_tenant(row.via_token_id)) who.tenant = row.via_token_id;
  who.kind_data = row.kind_data;
  who.is_by_chat = is_by_chat(row.kind_data);
  who.agent = *agent;
  who.agent.instructions += tools.notice;
  who.model = std::move(*model);
  // At most about a quarter of what the model reads: a token has some four bytes.
  if (project) who.agent.instructions += project_text(*project, who.model.context, tools.find("read") != nullptr);
  who.tools = std::move(tools);
  who.workspaces = std::move(workspaces);
  const auto limits = budget_of(row.kind_data).value_or(limits_of(agent->budget, {}));
  who.tree = std::make_shared<turn_tree>(next.turn, limits, agent->budget.width);
  auto plan = left ? plan_resume(for_model, *left, who.tools, runtime_->core.now()) : resume_plan{};
  auto started_text = left ? turn_resumed(resumed_from(for_model)) : turn_started(who.operation, who.kind_data);
  auto event = agent_runtime::event_of(who, started_text.type, std::move(started_text.data));
  auto step = left ? resuming(next.turn, for_model, plan, std::move(event))
                   : commands::begin_turn{next.turn, for_model.last, event};
  std::optional<first_model_call> first;
  if (!left && runtime_->steering.of(next.turn).empty() && !runtime_->core.is_low()) {
    step.first_call = model_call_of(who, 1, expected_use_of(who, for_model.messages));
    first = {step.first_call->id, step.first_call->order.kind_data};
  }
  const auto port = std::make_shared<std::weak_ptr<turn_port>>();
  const auto over = [this, next, port](const commands::turn_begun& begun) {
    if (!begun.may_run) return leave(next.turn, next.scope);
    const auto of = port->lock();
    if (of && begun.first_call) of->first_call_opened(*begun.first_call);
  };
  // At once, not after the commit, because a stop must find the agent. Nothing that the agent does leaves before it is
  // durable.
  auto begins = [this, next, port, first = std::move(first), who = std::move(who), for_model = std::move(for_model),
                 plan = std::move(plan)](const commands::turn_begun& begun) mutable {
    if (!begun.may_run) return;
    who.began = begun.began;
    who.tree->note(begun.used);
    actors::agent_start start;
    start.so_far = std::move(for_model.messages);
    start.resumes = next.resumes;
    start.known = std::move(for_model.known);
    start.calls = std::move(for_model.calls);
    start.past = std::move(for_model.past);
    const auto over = [this, next](actors::agent_exit how, const std::shared_ptr<turn_port>& port) {
      if (how == actors::agent_exit::died) {
        port->close_left_model_call();
        give_up(next, "its actor broke down", broken_end());
      }
      leave(next.turn, next.scope);
    };
    kept_context context(std::move(for_model.begins), std::move(for_model.summary), std::move(for_model.people));
    auto running = start_agent(runtime_, std::move(who), std::move(start), over, std::move(context), std::move(plan),
                               std::move(first));
    *port = running.port;
    for (const auto& call : begun.stopped) running.handle->stop_call(call, {});
    const std::lock_guard lock(guard_);
    if (places_.contains(next.turn)) running_[next.turn] = running.port; // else the agent has died and left already
    returning_.erase(next.turn);
  };
  runtime_->core.execute({std::move(step), over, std::move(begins)});
}

/// Ends a turn that cannot continue as failed.
void real_turn_scheduler::give_up(const queued& next, const std::string& why, const own_outcome& how) {
  spdlog::error("turn {} in scope {} cannot run: {}", next.turn.text(), next.scope.text(), why);
  if (next.resumes)
    runtime_->background_reads->run(
        [this, turn = next.turn](store_reader& store) { recover_texts(*runtime_, turn, store); });
  // This end stops the work of an agent that broke down, and ends its calls; without an agent nobody would be notified.
  using reach = commands::end_local::reach;
  const auto what = is_on_its_way(next.turn) ? reach::with_all_below : reach::with_its_calls;
  runtime_->core.execute(
      {commands::end_local{next.turn, how, what}, [this, next](bool) { leave(next.turn, next.scope); }});
}

} // namespace quell::controller::turns
