// Each change: take the scope's place, read what is stored, write one transaction, give the place back.
//
// Messages that the change has read cannot change meanwhile: a new one waits behind it. Only a stop's acknowledgement
// can still be added; it belongs to no exchange.
#include "actors/turns/history_editor.hpp"

#include <algorithm>

#include "actors/turns/budget_json.hpp"
#include "actors/turns/history.hpp"
#include "actors/turns/history_rows.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/message_choice.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/steering.hpp"
#include "actors/turns/summary_call.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/begin_history_change.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/leave_turn.hpp"
#include "controller/commands/rewrite_history.hpp"
#include "controller/refused_with.hpp"
#include "controller/token_shares.hpp"

namespace quell::controller::turns {
namespace {

/// The stop of a summary that belongs to no turn.
class summary_handle final : public actors::agent_handle {
 public:
  explicit summary_handle(actors::step_poster post) : post_(std::move(post)) {}
  /// Before the call begins.
  void runs(const std::shared_ptr<summary_call>& call) { call_ = call; }
  void stop(actors::abort_reason, const std::string&) override {
    post_([weak = call_] {
      if (const auto call = weak.lock()) call->stop({});
    });
  }
  void stop_call(const operation_id&, const std::string&) override {}
  void decide(const operation_id&, approval_outcome, const std::string&, const std::optional<std::string>&) override {}
  void waits(const operation_id&, actors::human_wait) override {}
  void die() override {}

 private:
  const actors::step_poster post_;
  std::weak_ptr<summary_call> call_;
};

std::vector<scope_path> places_of(const history_order& order) {
  std::vector<scope_path> places{order.scope};
  if (order.to) places.push_back(*order.to);
  return places;
}

refusal store_fault(const fault& why) { return {{error_code::storage_unavailable, why.detail, {}}, {}, {}}; }

/// The agent that answered last; else the one that would answer a message.
const agent_settings* last_agent(const std::vector<records::kept_message>& kept, const scope_path& scope,
                                 const turn_settings& settings, store_reader& store) {
  const auto newest = std::find_if(kept.rbegin(), kept.rend(), [](const auto& m) {
    return m.message.role == records::message_role::user && m.message.turn && !m.message.discarded;
  });
  if (newest != kept.rend())
    if (const auto row = store.operation(*newest->message.turn); row && *row)
      if (const auto* agent = agent_for(settings, scope, (*row)->name); agent && !agent->is_command()) return agent;
  return agent_for(settings, scope, std::nullopt);
}

/// As a turn reads them, with what stopped commands had printed.
history_facts all_facts_of(const agent_runtime& runtime, const std::vector<records::kept_message>& kept,
                           const operation_id& nobody, store_reader& store) {
  auto facts = facts_of(kept, nobody, store);
  if (runtime.output) find_printed(facts, kept, store, *runtime.output);
  return facts;
}

/// The newest row of the scope.
result<std::optional<records::message_record>> newest_row(store_reader& store, const scope_path& scope) {
  records::message_filter f;
  f.scope = scope;
  f.ascending = false;
  f.limit = 1;
  auto page = store.messages(f);
  if (!page) return tl::unexpected(page.error());
  if (page->empty()) return std::optional<records::message_record>{};
  return std::optional(std::move(page->front().message));
}

} // namespace

void history_editor::take(history_order order, answer done) {
  auto c = std::make_shared<change>();
  c->order = std::move(order);
  c->done = std::move(done);
  runtime_->core.execute({commands::begin_history_change{c->holds, places_of(c->order)},
                          [self = shared_from_this(), c](const outcome<std::uint64_t>& begun) {
                            if (!begun) return self->refuse(c, begun.error());
                            c->as_of = *begun;
                            self->runtime_->background_reads->run(
                                [self, c](store_reader& store) { self->look(c, store); });
                          }});
}

void history_editor::look(const change_ref& c, store_reader& store) {
  const auto& order = c->order;
  const auto newest = newest_row(store, order.scope);
  if (!newest) return refuse(c, store_fault(newest.error()));
  if (!*newest) return refuse(c, error_code::message_not_found, "scope " + order.scope.text() + " has no conversation");
  const bool is_other = (order.expect_seq && *order.expect_seq != (*newest)->seq) ||
                        (order.expect_id && *order.expect_id != (*newest)->id);
  if (is_other)
    return refuse(c, error_code::history_changed,
                  "the newest message of scope " + order.scope.text() + " is " + (*newest)->id.text() + " (seq " +
                      std::to_string((*newest)->seq) + "), not the one in /expect; read it, then decide again");
  using action = history_order::action;
  switch (order.what) {
  case action::clear:
    return clear(c, (*newest)->seq);
  case action::compact:
    return compact(c, store, (*newest)->seq);
  case action::edit:
    return edit(c, store);
  case action::remove:
    return remove(c, store);
  case action::regenerate:
    return regenerate(c, store);
  case action::fork:
    return copy(c, store);
  }
}

void history_editor::clear(const change_ref& c, std::uint64_t newest) {
  conversation_summary mark;
  mark.up_to = newest;
  commands::rewrite_history step;
  step.added.push_back({row_of(mark, c->order.scope), {}});
  const auto id = step.added.back().message.id;
  runtime_->core.execute(
      {std::move(step), [self = shared_from_this(), c, id](const commands::history_rewritten& written) {
         self->finish(c, history_answer{written.seq, id, {}});
       }});
}

void history_editor::compact(const change_ref& c, store_reader& store, std::uint64_t newest) {
  const auto& scope = c->order.scope;
  const auto settings = runtime_->settings.get();
  const auto stored = read_history(store, scope, std::nullopt);
  if (!stored) return refuse(c, store_fault(stored.error()));
  const auto* agent = last_agent(stored->kept, scope, *settings, store);
  const auto model = agent && !agent->is_command() ? model_of(*settings, *agent) : std::nullopt;
  if (!model)
    return refuse(c, error_code::not_changeable,
                  "no agent serves scope " + scope.text() + ", so no model can summarise");
  auto reported =
      history_for(stored->kept, c->holds, all_facts_of(*runtime_, stored->kept, c->holds, store), stored->gap_behind);
  placed_conversation all{std::move(reported.messages), std::move(reported.begins), std::move(reported.summary),
                          std::nullopt, std::move(reported.people)};
  const std::size_t room = model->context > model->max_tokens ? model->context - model->max_tokens : 0;
  auto plan = plan_compaction(all, room, summary_reading_room(*model, room));
  if (!plan)
    return refuse(c, error_code::not_changeable, "there is nothing older in scope " + scope.text() + " to summarise");
  summary_order order;
  order.id = c->holds;
  order.scope = scope;
  order.owner = c->order.by.owner;
  if (is_tenant(c->order.by.token_id)) order.tenant = c->order.by.token_id;
  order.as_of = c->as_of;
  order.agent = agent->name;
  order.model = *model;
  order.tokens = summary_tokens(*model, room);
  history_answer a;
  a.seq = newest;
  a.operation = order.id;
  a.messages = plan->summary.messages;
  order.plan = std::move(*plan);
  // Short steps, which wait for no long read.
  const actors::step_poster post = [runtime = runtime_](std::function<void()> step) {
    runtime->priority_reads->run([step = std::move(step)](store_reader&) { step(); });
  };
  const auto handle = std::make_shared<summary_handle>(post);
  order.stopped_by = handle;
  const auto call = std::make_shared<summary_call>(runtime_, std::move(order), post);
  handle->runs(call);
  {
    const std::lock_guard lock(guard_);
    summaries_.emplace(c->holds, c);
  }
  // The operation holds the scope until it has ended: the notice of its end lets the next turn begin.
  post([self = shared_from_this(), c, a, call] {
    const auto accepted = [self, c, a](const outcome<created>& made) {
      made ? c->done(a) : self->refuse(c, made.error());
    };
    call->start(accepted, {}, [call](const summary_end&) {});
  });
}

void history_editor::ended(const operation_id& operation) {
  change_ref over;
  {
    const std::lock_guard lock(guard_);
    const auto at = summaries_.find(operation);
    if (at == summaries_.end()) return;
    over = std::move(at->second);
    summaries_.erase(at);
  }
  let_go(over);
}

void history_editor::edit(const change_ref& c, store_reader& store) {
  const auto rows = exchanges_of(store, c->order.scope);
  if (!rows) return refuse(c, store_fault(rows.error()));
  const auto at = find_exchange(*rows, *c->order.message);
  if (at == rows->size() || (*rows)[at].request.id != *c->order.message)
    return refuse(c, error_code::message_not_found,
                  "scope " + c->order.scope.text() + " has no message " + c->order.message->text() +
                      " of a person that is still read (it can be cleared, summarised, or too old)");
  if (!(*rows)[at].turn || (*rows)[at].is_partly_covered)
    return refuse(c, error_code::not_changeable,
                  (*rows)[at].turn ? "a summary stands for a part of what followed this message"
                                   : "this message stopped what was running; that is not undone");
  const auto brought_by = turn_that_brought((*rows)[at].request).value_or(*(*rows)[at].turn);
  if (c->order.by.role == role::chat) {
    const auto row = store.operation(brought_by);
    if (!row) return refuse(c, store_fault(row.error()));
    if (!*row || !is_by_chat((*row)->kind_data))
      return refuse(
          c, error_code::forbidden,
          "no chat is known to have brought this message, so a token of role chat does not change its author's words");
  }
  history_answer a;
  std::vector<operation_id> gone;
  for (std::size_t i = at; i < rows->size(); ++i) {
    if (!(*rows)[i].turn) continue; // a message that stopped something stays
    gone.push_back(*(*rows)[i].turn);
    a.messages += (*rows)[i].messages;
  }
  auto edited = (*rows)[at].request;
  edited.id = message_id::fresh();
  edited.text = c->order.text;
  edited.turn = operation_id::fresh(); // of no operation: nobody has answered it yet
  edited.client_id.clear();
  // To ask again looks there for the agent and the rest of what the message chose.
  const auto origin = origin_in(edited.decision).value_or(*(*rows)[at].turn);
  edited.decision = decision_with_origin(decision_with_files({}, files_in(edited.decision)), origin);
  if (brought_by != origin) edited.decision = decision_of_copy(edited.decision, brought_by);
  a.message = edited.id;
  discard_then_answer(c, std::move(gone), {{std::move(edited), {}}}, a);
}

void history_editor::remove(const change_ref& c, store_reader& store) {
  const auto rows = exchanges_of(store, c->order.scope);
  if (!rows) return refuse(c, store_fault(rows.error()));
  const auto at = find_exchange(*rows, *c->order.message);
  if (at == rows->size())
    return refuse(c, error_code::message_not_found,
                  "scope " + c->order.scope.text() + " has no message " + c->order.message->text() +
                      " that is still read (it can be cleared, summarised, or too old)");
  if (!(*rows)[at].turn || (*rows)[at].is_partly_covered)
    return refuse(c, error_code::not_changeable,
                  (*rows)[at].turn ? "a summary stands for a part of this exchange"
                                   : "this message stopped what was running; that is not undone");
  history_answer a;
  a.messages = (*rows)[at].messages;
  discard_then_answer(c, {*(*rows)[at].turn}, {}, a);
}

void history_editor::discard_then_answer(const change_ref& c, std::vector<operation_id> turns,
                                         std::vector<records::kept_message> added, history_answer a) {
  commands::rewrite_history step;
  step.discarded = std::move(turns);
  step.added = std::move(added);
  runtime_->core.execute(
      {std::move(step), [self = shared_from_this(), c, a](const commands::history_rewritten& written) {
         auto answer = a;
         answer.seq = written.seq;
         if (written.seq > 0) return self->finish(c, answer);
         self->runtime_->background_reads->run([self, c, answer](store_reader& store) mutable {
           if (const auto newest = newest_row(store, c->order.scope); newest && *newest) answer.seq = (*newest)->seq;
           self->finish(c, answer);
         });
       }});
}

/// The new turn waits behind this change. It and the end of the old exchanges are one transaction.
void history_editor::regenerate(const change_ref& c, store_reader& store) {
  const auto rows = exchanges_of(store, c->order.scope);
  if (!rows) return refuse(c, store_fault(rows.error()));
  const auto is_it = [&from = c->order.from](const auto& one) { return one.turn && (!from || one.turn == from); };
  const auto found = std::find_if(rows->rbegin(), rows->rend(), is_it);
  if (found == rows->rend())
    return refuse(c, error_code::message_not_found,
                  "scope " + c->order.scope.text() + " has no " + (c->order.from ? "such " : "") +
                      "message to answer again (it can be cleared, summarised, or too old)");
  const auto last = std::prev(found.base());
  if (last->is_partly_covered)
    return refuse(c, error_code::not_changeable, "a summary stands for a part of this exchange");
  if (c->order.expect_text && *c->order.expect_text != last->request.text)
    return refuse(c, error_code::not_changeable,
                  "only the newest message of scope " + c->order.scope.text() +
                      " can be asked again, and it is another");
  const auto settings = runtime_->settings.get();
  message_order order;
  order.by = c->order.by;
  order.scope = c->order.scope;
  order.text = c->order.text.empty() ? last->request.text : c->order.text;
  order.files = c->order.files.value_or(files_in(last->request.decision));
  order.author = last->request.author;
  if (c->order.client) {
    order.client = c->order.client;
    order.via_channel = c->order.via_channel;
  }
  order.wants = message_order::scope_of_decision::only_turn;
  const auto answered_by = origin_in(last->request.decision).value_or(*last->turn);
  if (const auto row = store.operation(answered_by); row && *row) {
    order.labels = (*row)->labels;
    if ((*row)->timeout.count() > 0) order.timeout = (*row)->timeout;
    order.context = context_of((*row)->kind_data);
    order.budget = budget_of((*row)->kind_data);
    if (const auto* agent = agent_for(*settings, order.scope, (*row)->name); agent && !agent->is_command()) {
      order.agent = agent->name;
      auto choice = possible_part(*agent, choice_of((*row)->kind_data));
      order.model = std::move(choice.model);
      order.tools = std::move(choice.tools);
    }
  }
  const auto brought = store.operation(turn_that_brought(last->request).value_or(answered_by));
  const bool is_known = brought && *brought;
  order.was_by_chat = !is_known || is_by_chat((*brought)->kind_data); // without a row it gives less
  if (is_known) order.account = account_in((*brought)->kind_data);
  for (const auto& [key, value] : c->order.labels) order.labels[key] = value;
  commands::question_again step{c->holds, {}, c->as_of};
  std::uint64_t gone = 0;
  for (auto one = last; one != rows->end(); ++one) {
    if (!one->turn) continue; // a message that stopped something stays
    step.discarded.push_back(*one->turn);
    gone += one->messages;
  }
  std::uint64_t copied = c->order.text.empty() ? order.text.size() : 0;
  for (const auto& message : last->steering) {
    copied += message.text.size();
    step.steering.push_back(copy_of_steering(message));
  }
  router_->ask_again(std::move(order), std::move(step),
                     [self = shared_from_this(), c, gone, copied](const outcome<message_answer>& again) {
                       if (!again) return self->refuse(c, again.error());
                       self->finish(c, history_answer{again->seq, again->message, again->turn, gone, copied});
                     });
}

void history_editor::copy(const change_ref& c, store_reader& store) {
  const auto other = newest_row(store, *c->order.to);
  if (!other) return refuse(c, store_fault(other.error()));
  if (*other)
    return refuse(c, error_code::history_in_use,
                  "scope " + c->order.to->text() + " has a conversation of its own; name one that has none");
  const auto stored = read_history(store, c->order.scope, std::nullopt);
  if (!stored) return refuse(c, store_fault(stored.error()));
  if (stored->gap_behind > 0)
    return refuse(c, error_code::not_changeable,
                  "the conversation of scope " + c->order.scope.text() +
                      " is too long to be copied whole; compact it first, then fork it");
  commands::rewrite_history step;
  step.added = copies_of(stored->kept, *c->order.to, all_facts_of(*runtime_, stored->kept, c->holds, store));
  history_answer a;
  a.messages = step.added.size();
  a.bytes = bytes_of(step.added);
  if (step.added.empty())
    return refuse(c, error_code::message_not_found, "nothing of scope " + c->order.scope.text() + " is read");
  runtime_->core.execute(
      {std::move(step), [self = shared_from_this(), c, a](const commands::history_rewritten& written) {
         auto answer = a;
         answer.seq = written.seq;
         self->finish(c, answer);
       }});
}

void history_editor::refuse(const change_ref& c, error_code code, std::string detail) {
  finish(c, refused_with(code, std::move(detail)));
}

void history_editor::refuse(const change_ref& c, refusal why) { finish(c, tl::unexpected(std::move(why))); }

void history_editor::finish(const change_ref& c, outcome<history_answer> a) {
  {
    const std::lock_guard lock(guard_);
    summaries_.erase(c->holds);
  }
  let_go(c);
  c->done(std::move(a));
}

void history_editor::let_go(const change_ref& c) {
  for (const auto& place : places_of(c->order))
    runtime_->core.execute(
        {commands::leave_turn{c->holds, place}, [self = shared_from_this()](const std::optional<queued_turn>& next) {
           if (next) self->begin_(*next);
         }});
}

} // namespace quell::controller::turns
