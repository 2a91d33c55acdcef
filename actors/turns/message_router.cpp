// From a message to its decision: gates, repeats, stop words, and then one command.
#include "actors/turns/message_router.hpp"

#include <spdlog/spdlog.h>

#include "actors/turns/ask_user.hpp"
#include "actors/turns/budget_json.hpp"
#include "actors/turns/decisions.hpp"
#include "actors/turns/interrupted.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/lost_clients.hpp"
#include "actors/turns/message_choice.hpp"
#include "actors/turns/steering.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/publish_event.hpp"
#include "controller/commands/running_turn.hpp"
#include "controller/commands/take_message.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::hours repeat_window{24};

/// The agent that would answer, or why there is none.
tl::expected<const agent_settings*, refusal> agent_of(const turn_settings& settings, const message_order& order) {
  if (const auto* place = closed_by(settings.chat, order.scope))
    return refused_with(error_code::forbidden,
                        "nobody may speak to agents in scope " + order.scope.text() + ": [[place]] \"" +
                            place->scope.text() + "\" does not list it in channels",
                        "/scope");
  const auto* agent = agent_for(settings, order.scope, order.agent);
  if (!agent && order.agent)
    return refused_with(error_code::invalid_field,
                        settings.agent(*order.agent)
                            ? "agent " + *order.agent + " does not serve scope " + order.scope.text() +
                                  "; name one that does, or none ([[agents]] scopes, [[place]] agents)"
                            : "there is no agent " + *order.agent + " configured",
                        "/agent");
  if (!agent)
    return refused_with(error_code::invalid_field,
                        "no agent serves scope " + order.scope.text() +
                            "; configure one ([[agents]] scopes), or name one in /agent",
                        "/scope");
  if (agent->is_command())
    return refused_with(error_code::invalid_field,
                        "agent " + agent->name + " is a command: it can be spawned by others, but answers no messages",
                        "/agent");
  return agent;
}

message_answer ignored(const ledger& l, std::string why) {
  message_answer a;
  a.why = std::move(why);
  a.seq = l.last_seq();
  return a;
}

/// The facts about the agent that would answer, from the turn's row.
tl::expected<commands::answering_agent, refusal> answering(const turn_settings& settings, const message_order& order,
                                                           const message_id& message) {
  const auto agent = agent_of(settings, order);
  if (!agent) return tl::unexpected(agent.error());
  const message_choice choice{order.model, order.tools};
  const auto wanted = chosen(settings, **agent, choice);
  if (!wanted) return tl::unexpected(wanted.error());
  const auto& a = *wanted;
  const bool is_shorter =
      order.timeout && (a.budget.timeout.count() == 0 || *order.timeout < a.budget.timeout); // 0 = none
  auto block =
      with_choice(turn_block(message, a.name, a.model, commands::way_of(order) == brought_by::chat, order.context,
                             budget_text(limits_in(settings.chat, order.scope, limits_of(a.budget, order.budget)))),
                  choice);
  block = with_account(block, order.account);
  if (order.client) block = with_client(block, *order.client, order.via_channel);
  return commands::answering_agent{a.name, is_shorter ? *order.timeout : a.budget.timeout, std::move(block)};
}

/// Whether the message can be the answer to an agent's question: it does not say that it is something else. Words that
/// are spoken say that they are one.
bool may_answer(const message_order& order) {
  const bool is_plain =
      order.addressed != false && order.wants == message_order::scope_of_decision::decide && order.files.empty();
  if (!is_plain || order.during == during_turn::answer) return is_plain;
  const bool wants_turn = order.modality != modality::text || order.exchange || order.agent || !order.labels.empty() ||
                          order.timeout || order.budget || order.model || order.tools || order.parent ||
                          !order.context.empty();
  return !wants_turn && (!order.during || order.is_during_default);
}

/// The answers that the message would be to what agents ask in its scope.
std::vector<commands::possible_answer> answers_of(const question_table& questions, const message_order& order) {
  std::vector<commands::possible_answer> answers;
  for (const auto& [question, open] : questions.open_in(order.scope)) {
    if (order.answers && *order.answers != open.turn) continue;
    commands::possible_answer one;
    one.turn = open.turn;
    one.owner = open.owner;
    one.call = open.call;
    one.given.question = question;
    one.given.accepts = true;
    one.given.values = values_of_message(open.form, order.text);
    one.given.by = order.author;
    one.given.event_data = approval_resolved(open.call, approval_outcome::approved, order.author, {}, question).data;
    one.end = end_by_answer(one.given);
    one.message_end = end_of_taken(open.turn);
    one.is_by_chat = open.is_by_chat;
    answers.push_back(std::move(one));
  }
  return answers;
}

} // namespace

message_router::message_router(std::shared_ptr<agent_runtime> runtime, std::unique_ptr<blocking_executor> repeats,
                               turn_queue queue)
    : runtime_(std::move(runtime)), repeats_(std::move(repeats)), queue_(std::move(queue)),
      words_(words_by_place(runtime_->settings->chat)),
      says_(std::make_shared<acknowledger>(runtime_, runtime_->loop())) {}

void message_router::take(message_order order, answer done) {
  auto why = why_ignored(order, runtime_->settings->chat.confidence);
  if (!why.empty()) return ignore(std::move(why), std::move(done));
  look_for_repeat(std::move(order), std::move(done));
}

void message_router::ignore(std::string why, answer done) {
  runtime_->core.ask([why = std::move(why), done = std::move(done)](const ledger& l, moment) -> std::function<void()> {
    return [a = ignored(l, why), done] { done(a); };
  });
}

/// The store has all messages except those of this very moment, which `recent_messages` has. A message without an id
/// takes the same way, so that a stop never overtakes earlier messages.
void message_router::look_for_repeat(message_order order, answer done) {
  repeats_->run(
      [self = shared_from_this(), order = std::move(order), done = std::move(done)](store_reader& store) mutable {
        if (order.client_id.empty()) return self->decide(std::move(order), std::move(done));
        auto known = store.message_of_client(order.scope, order.client_id);
        if (!known) {
          // A stop is decided all the same: done twice it is harmless, and an error of the disk must not lose it.
          const bool is_stop = self->words_->of(order.scope).look(order.text, order.bot_names).has_value();
          if (is_stop) return self->decide(std::move(order), std::move(done));
          return done(refused_with(error_code::storage_unavailable, known.error().detail));
        }
        const auto now = self->runtime_->core.now().wall;
        if (*known && now - (*known)->at <= repeat_window) return self->repeat(**known, store, order, std::move(done));
        self->decide(std::move(order), std::move(done));
      });
}

void message_router::repeat(const records::message_record& known, store_reader& store, const message_order& order,
                            answer done) {
  const auto kept = read_kept(known.decision);
  auto a = answer_of(kept, known.id, known.turn);
  a.seq = known.seq;
  a.is_duplicate = true;
  if (kept.cancel) {
    a.interrupted = names_of(kept, store);
    a.is_acknowledged = known.acknowledged.value_or(false);
    return done(a);
  }
  if (!a.turn) return decide(order, std::move(done)); // not a message that was decided here
  if (const auto row = store.operation(*a.turn); row && *row) a.turn_status = (*row)->hot.now;
  runtime_->core.ask([a, done = std::move(done)](const ledger& l, moment now) mutable -> std::function<void()> {
    if (const auto live = l.view(*a.turn, now)) a.turn_status = live->hot.now;
    return [a, done] { done(a); };
  });
}

void message_router::decide(message_order order, answer done) {
  commands::take_message what{
      std::move(order),  {}, {}, {}, runtime_->core.now().boot, message_id::fresh(), operation_id::fresh(),
      cancel_id::fresh()};
  auto& o = what.order;
  if (auto seen = words_->of(o.scope).look(o.text, o.bot_names)) {
    what.word = std::move(seen->word);
    if (seen->names_bot && !o.addressed) o.addressed = true; // a message that names the bot is addressed to it
  }
  auto claim = std::exchange(o.claim, nullptr);
  const auto settings = runtime_->settings.get();
  if (o.modality == modality::text && closed_by(settings->chat, o.scope)) {
    // Work that began before the place was closed can still be stopped.
    if (!what.word) return ignore("place_closed", std::move(done));
    o.addressed = false;
  }
  what.agent = answering(*settings, o, what.message);
  if (const auto agent = agent_of(*settings, o); agent && !o.during) {
    o.during = during_turn_named((*agent)->during_turn);
    o.is_during_default = true;
  }
  if (!what.word && may_answer(o)) what.answers = answers_of(runtime_->questions, o);
  if (o.exchange) what.exchange_result = exchange_result(o.text, false);
  using then = commands::taken_message::then;
  const auto entered = [self = shared_from_this(), scope = o.scope,
                        files = o.files](const commands::taken_message& taken) {
    if (taken.next != then::begin_turn && taken.next != then::queue_turn) return;
    self->queue_.entered(*taken.answer->turn, scope);
    self->runtime_->arriving.belong(files, *taken.answer->turn);
    if (taken.answer->during == during_turn::steer && taken.answer->met)
      self->runtime_->steering.add(*taken.answer->met, *taken.answer->turn);
    if (taken.first && taken.first->rest_is_on_disk) self->queue_.begin(taken.first);
  };
  auto over = [self = shared_from_this(), order = o, done = std::move(done)](commands::taken_message taken) {
    if (taken.next == then::stop)
      return self->runtime_->priority_reads->run(
          [self, order, taken = std::move(taken), done](store_reader& store) mutable {
            taken.answer->interrupted = names_of(taken.kept, store);
            self->say_stopped(order, *taken.answer, taken.kept, store, done);
          });
    if (taken.answered) tell_answered(*self->runtime_, taken.answered->call, taken.answered->given);
    done(taken.answer);
    if (taken.first && !taken.first->rest_is_on_disk) self->queue_.begin(taken.first);
  };
  runtime_->core.execute_unless_withdrawn({std::move(what), std::move(over), entered}, std::move(claim));
}

/// The stop is under way: its author is answered first, before anything else is read, then the watchers.
void message_router::say_stopped(const message_order& order, message_answer a, const kept_decision& kept,
                                 store_reader& store, answer done) {
  done(a);
  stop_request_news what;
  what.message = *a.message;
  what.cancel = *a.cancel;
  what.scope = order.scope;
  what.text = order.text;
  what.author = order.author;
  what.requests = requests_of(kept, store);
  what.modality = order.modality;
  what.interrupted = a.interrupted;
  what.agent = order.agent;
  what.is_first = kept.cancel_outcome != name_of(cancel_outcome::joined);
  auto place = says_->place_for(what);
  a.words_follow = place != nullptr;
  runtime_->core.execute({commands::publish_event{decision_event(order, a)}, {}});
  says_->acknowledge(std::move(what), std::move(place));
}

void message_router::ask_again(message_order order, commands::question_again what, answer done) {
  commands::take_message step{std::move(order),
                              {},
                              {},
                              {},
                              runtime_->core.now().boot,
                              message_id::fresh(),
                              operation_id::fresh(),
                              cancel_id::fresh(),
                              std::move(what)};
  step.agent = answering(*runtime_->settings.get(), step.order, step.message);
  const auto entered = [self = shared_from_this(), scope = step.order.scope](const commands::taken_message& taken) {
    if (taken.answer) self->queue_.entered(*taken.answer->turn, scope);
  };
  runtime_->core.execute({std::move(step),
                          [done = std::move(done)](commands::taken_message taken) { done(std::move(taken.answer)); },
                          entered});
}

void message_router::stop() {
  repeats_->stop();
  says_->stop();
}

void message_router::pick_up() {
  runtime_->priority_reads->run([self = shared_from_this()](store_reader& store) {
    const auto left = store.unacknowledged();
    if (!left) return spdlog::error("stops that are not acknowledged cannot be read: {}", left.error().detail);
    self->says_->make_up_for(*left, store);
  });
}

} // namespace quell::controller::turns
