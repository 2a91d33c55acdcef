// From a message to its decision: gates, repeats, stop words, standing, and then one closure on the ledger.
#include "actors/turns/message_router.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <unordered_set>

#include "actors/turns/budget_json.hpp"
#include "actors/turns/interrupted.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/command.hpp"
#include "controller/refused_with.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::hours repeat_window{24};
constexpr std::size_t most_waiting = 1000; ///< turns of one scope
constexpr std::size_t title_bytes = 80, reason_bytes = 200;

/// The agent that would answer, or why there is none.
tl::expected<const agent_settings*, refusal> agent_of(const turn_settings& settings, const message_order& order) {
  const auto* agent = agent_for(settings, order.scope, order.agent);
  if (!agent && order.agent)
    return refused_with("invalid_field",
                        settings.agent(*order.agent)
                            ? "agent " + *order.agent + " does not serve scope " + order.scope.text() +
                                  "; name one that does, or none ([[agents]] scopes)"
                            : "there is no agent " + *order.agent + " configured",
                        "/agent");
  if (!agent)
    return refused_with("invalid_field",
                        "no agent serves scope " + order.scope.text() +
                            "; configure one ([[agents]] scopes), or name one in /agent",
                        "/scope");
  if (agent->is_command())
    return refused_with("invalid_field",
                        "agent " + agent->name + " is a command: it can be spawned by others, but answers no messages",
                        "/agent");
  return agent;
}

records::message_record record_of(const message_order& order) {
  records::message_record m;
  m.id = message_id::fresh();
  m.scope = order.scope;
  m.author = order.author;
  m.client_id = order.client_id;
  m.text = order.text;
  return m;
}

records::event_record decided(const message_order& order, const message_answer& a) {
  records::event_record e;
  e.type = "message_decided";
  e.scope = order.scope;
  e.cancel = a.cancel;
  e.data = decision_json(order, a);
  return e;
}

/// The stored decision about a message, as an answer.
message_answer told(const kept_decision& kept, const message_id& message, const std::optional<operation_id>& turn) {
  message_answer a;
  a.decision = kept.cancel ? message_answer::decided::cancel : message_answer::decided::turn;
  a.why = kept.why;
  a.message = message;
  a.cancel_word = kept.cancel_word;
  a.standing = kept.standing;
  a.turn = turn;
  a.cancel = kept.cancel;
  a.cancel_outcome = kept.cancel_outcome;
  a.cancel_status = kept.cancel_status;
  a.operations = kept.operations;
  return a;
}

message_answer ignored(const ledger& l, std::string why) {
  message_answer a;
  a.why = std::move(why);
  a.seq = l.last_seq();
  return a;
}

/// Answers a message that is not a stop and wanted nothing else.
message_answer passed_by(const ledger& l, std::string why) {
  auto a = ignored(l, std::move(why));
  a.decision = message_answer::decided::turn;
  return a;
}

/// True if nothing lives there except this message's exchange and the operations that serve the conversation.
bool is_idle_but_for(const message_order& order, ledger& l) {
  if (!order.exchange) return l.actors()->live_in(order.scope) == 0;
  const auto all = l.actors()->outline(order.scope, order.apart.size() + 2);
  return std::all_of(all.begin(), all.end(), [&](const outlined& one) {
    return one.root == *order.exchange ||
           std::find(order.apart.begin(), order.apart.end(), one.root) != order.apart.end();
  });
}

/// True if the author has an operation there that an exchange has begun, or one that is not an exchange: speaking
/// alone, however often, makes nobody an owner.
bool has_more_of(const message_order& order, ledger& l, moment now) {
  constexpr std::size_t most_looked_at = 1000;
  if (!order.exchange) return true;
  cancel_order look;
  look.by_token = agent_runtime::acting_for(order.author);
  look.target = records::target_owner{order.author.id, order.scope};
  look.dry_run = true;
  const auto view = l.cancel(look, cancel_id::fresh(), now);
  if (!view) return false;
  const std::unordered_set<operation_id> own(view->would_stop.begin(), view->would_stop.end());
  const auto all = l.actors()->outline(order.scope, most_looked_at);
  return std::any_of(all.begin(), all.end(), [&](const outlined& one) {
    return one.kind != kind::exchange && one.now != status::pending && own.contains(one.id);
  });
}

} // namespace

message_router::message_router(std::shared_ptr<agent_runtime> parts, std::unique_ptr<blocking_executor> repeats,
                               turn_queue line)
    : parts_(std::move(parts)), repeats_(std::move(repeats)), line_(std::move(line)), words_(parts_->settings.chat),
      says_(std::make_shared<acknowledger>(parts_)) {}

void message_router::take(message_order order, answer done) {
  auto why = why_ignored(order, parts_->settings.chat.confidence);
  if (!why.empty())
    return parts_->core.ask(
        [why = std::move(why), done = std::move(done)](const ledger& l, moment) -> std::function<void()> {
          return [a = ignored(l, why), done] { done(a); };
        });
  look_for_repeat(std::move(order), std::move(done));
}

/// The store has all messages except those of this very moment, which `recent_messages` has. A message without an id
/// takes the same way, so that a stop never overtakes earlier messages.
void message_router::look_for_repeat(message_order order, answer done) {
  repeats_->run(
      [self = shared_from_this(), order = std::move(order), done = std::move(done)](store_reader& store) mutable {
        if (order.client_id.empty()) return self->judge(std::move(order), std::move(done));
        auto known = store.message_of_client(order.scope, order.client_id);
        if (!known) return done(refused_with("storage_unavailable", known.error().detail));
        const auto now = self->parts_->core.now().wall;
        if (*known && now - (*known)->at <= repeat_window) return self->repeat(**known, store, order, std::move(done));
        self->judge(std::move(order), std::move(done));
      });
}

void message_router::repeat(const records::message_record& known, store_reader& store, const message_order& order,
                            answer done) {
  const auto kept = read_kept(known.decision);
  auto a = told(kept, known.id, known.turn);
  a.seq = known.seq;
  a.is_duplicate = true;
  if (kept.cancel) {
    a.interrupted = names_of(kept, store);
    a.is_acknowledged = known.acknowledged.value_or(false);
    return done(a);
  }
  if (!a.turn) return judge(order, std::move(done)); // not a message that was decided here
  if (const auto row = store.operation(*a.turn); row && *row) a.turn_status = (*row)->hot.now;
  parts_->core.ask([a, done = std::move(done)](const ledger& l, moment now) mutable -> std::function<void()> {
    if (const auto live = l.view(*a.turn, now)) a.turn_status = live->hot.now;
    return [a, done] { done(a); };
  });
}

/// Neither waiting messages nor refused stops make anybody an owner.
bool message_router::owns_work(const message_order& order, ledger& l, moment now) const {
  if (!l.actors()->has_live_of(order.author.id, order.scope) || !has_more_of(order, l, now)) return false;
  bool was_refused = false;
  for (const auto& [id, turn] : begun_) {
    if (turn.owner != order.author.id) continue;
    if (turn.what == turn_of::refused_stop)
      was_refused = true;
    else if (turn.scope.is_at_or_below(order.scope))
      return true;
  }
  return !was_refused;
}

void message_router::note_begun(const operation_id& turn, const std::string& owner, const scope_path& scope,
                                turn_of what) {
  begun_.insert_or_assign(turn, begun_turn{owner, scope, what});
}

turns::standing message_router::standing_of(const message_order& order, ledger& l, moment now) const {
  if (order.modality == modality::text) return standing::text;
  if (owns_work(order, l, now)) return standing::speaker_owns;
  if (order.addressed.value_or(false)) return standing::addressed;
  return order.humans_present == 1U ? standing::only_human : standing::none;
}

void message_router::judge(message_order order, answer done) {
  judged j;
  if (auto seen = words_.of(order.scope).look(order.text, order.bot_names)) {
    j.word = std::move(seen->word);
    if (seen->names_bot && !order.addressed) order.addressed = true; // a message that names the bot is addressed to it
  }
  const bool is_for_others = order.addressed == false;
  const auto received = parts_->core.now().boot;
  parts_->core.judge([self = shared_from_this(), order = std::move(order), j = std::move(j), received, is_for_others,
                      done = std::move(done)](ledger& l, moment now) -> core_link::cancel_result {
    if (order.claim && !order.claim->take()) return {{}, [](bool) {}}; // withdrawn: nobody waits for the answer
    if (const auto* same = self->said_.find(order.scope, order.client_id, now.boot))
      return {{}, [done, same = *same](bool) { done(same); }};
    judged why = j;
    if (!j.word && is_for_others && order.modality == modality::text)
      return {{}, [done, a = ignored(l, "not_addressed")](bool) { done(a); }};
    if (j.word) {
      const bool has_passed = order.wants == message_order::wish::only_turn; // it was checked before and is not a stop
      why.standing = has_passed ? standing::none : self->standing_of(order, l, now);
      const bool is_idle = is_idle_but_for(order, l);
      if (is_idle && is_for_others) return {{}, [done, a = ignored(l, "nothing_active")](bool) { done(a); }};
      if (is_idle)
        why.why = "nothing_active";
      else if (why.standing == standing::none)
        why.why = "no_standing";
      else
        return self->take_stop(l, now, received, order, why, done);
    }
    if (order.wants == message_order::wish::only_stop)
      return {{}, [done, a = passed_by(l, why.why)](bool) { done(a); }};
    return {{}, [then = self->take_turn(l, now, order, why, done)](bool) { then(); }};
  });
}

core_link::cancel_result message_router::take_stop(ledger& l, moment now, boot_time received,
                                                   const message_order& order, const judged& why, answer done) {
  kept_decision kept;
  kept.why = "cancel_word";
  kept.cancel_word = why.word;
  kept.standing = why.standing;
  kept.modality = order.modality;
  choose_names(kept, l.actors()->outline(order.scope, 1000));
  cancel_order c;
  c.by_token = order.by;
  c.target = records::target_scope{order.scope};
  c.reason = std::string(utf8_prefix(order.text, reason_bytes));
  c.by = order.author;
  c.via_channel = order.via_channel;
  c.received = received;
  if (order.exchange) { // the message has served its purpose
    own_outcome said;
    said.result = exchange_result(order.text, false);
    l.actors()->finish_local(*order.exchange, said, now);
  }
  const commands::order_cancel stop{std::move(c), cancel_id::fresh()};
  const auto view = commands::accept(stop, l, now);
  if (!view) return {{}, [done = std::move(done), error = view.error()](bool) { done(tl::unexpected(error)); }};
  const bool joined = view->record.outcome == cancel_outcome::joined;
  kept.cancel = view->record.id;
  kept.cancel_outcome = std::string(name_of(view->record.outcome));
  kept.cancel_status = std::string(name_of(joined ? view->record.status : cancel_status::fenced));
  kept.operations = view->record.report.operations;
  auto m = record_of(order);
  m.decision = kept_text(kept);
  m.acknowledged = false;
  auto a = told(kept, m.id, std::nullopt);
  a.seq = l.actors()->add_message(std::move(m), now);
  said_.put(order.scope, order.client_id, a, now.boot);
  core_link::cancel_result j;
  if (commands::must_be_fenced(stop, view)) j.fences = kept.cancel;
  j.then = [self = shared_from_this(), order, a, kept, done = std::move(done)](bool durable) mutable {
    a.durable = durable;
    self->parts_->priority_reads->run([self, order, a, kept, done](store_reader& store) mutable {
      a.interrupted = names_of(kept, store);
      self->say_stopped(order, a, kept, done);
    });
  };
  return j;
}

/// The stop is under way: its author is answered first, then the watchers.
void message_router::say_stopped(const message_order& order, message_answer a, const kept_decision& kept, answer done) {
  done(a);
  stop_said what;
  what.message = *a.message;
  what.cancel = *a.cancel;
  what.scope = order.scope;
  what.text = order.text;
  what.modality = order.modality;
  what.interrupted = a.interrupted;
  what.agent = order.agent;
  what.is_first = kept.cancel_outcome != name_of(cancel_outcome::joined);
  a.words_follow = says_->asks_for_words(what);
  parts_->core.execute({commands::publish_event{decided(order, a)}, {}});
  says_->acknowledge(std::move(what));
}

std::function<void()> message_router::take_turn(ledger& l, moment now, const message_order& order, const judged& why,
                                                answer done) {
  const auto agent = agent_of(parts_->settings, order);
  if (!agent) return [done = std::move(done), error = agent.error()] { done(tl::unexpected(error)); };
  if (parts_->core.is_low())
    return [done = std::move(done)] {
      done(refused_with("storage_unavailable", "the state directory is low on space, so nothing new is begun"));
    };
  const auto before = line_.length(order.scope);
  if (before >= most_waiting)
    return [done = std::move(done)] {
      done(refused_with("too_many_operations", "1,000 turns of this scope wait already"));
    };
  kept_decision kept;
  kept.why = why.why;
  kept.cancel_word = why.word;
  kept.standing = why.standing;
  kept.modality = order.modality;
  auto m = record_of(order);
  m.turn = operation_id::fresh();
  m.decision = kept_text(kept);
  create_order turn;
  turn.by = order.by;
  turn.kind = kind::turn;
  turn.parent = order.exchange;
  turn.scope = order.scope;
  turn.name = (*agent)->name;
  turn.title = std::string(utf8_prefix(order.text, title_bytes));
  turn.owner = order.author;
  turn.timeout = (*agent)->budget.timeout;
  turn.later = before > 0;
  turn.kind_data = turn_block(m.id, (*agent)->name, (*agent)->model, order.by.role == role::chat, order.context,
                              budget_text(limits_of((*agent)->budget, order.budget)));
  const auto made = l.create(turn, *m.turn, now);
  if (!made) return [done = std::move(done), error = made.error()] { done(tl::unexpected(error)); };
  auto a = told(kept, m.id, m.turn);
  a.turn_status = before == 0 ? status::running : status::pending;
  a.position = static_cast<std::uint32_t>(before);
  a.seq = l.actors()->add_message(std::move(m), now);
  l.add_event(decided(order, a), now);
  if (before == 0)
    note_begun(*a.turn, order.author.id, order.scope,
               why.standing == standing::none ? turn_of::refused_stop : turn_of::message);
  // True also if the earlier turns have left since they were counted.
  const bool is_first = line_.enter(*a.turn, order.scope);
  said_.put(order.scope, order.client_id, a, now.boot);
  return [self = shared_from_this(), done = std::move(done), a, is_first, scope = order.scope] {
    done(a);
    if (is_first) self->line_.begin(*a.turn, scope);
  };
}

void message_router::stop() { repeats_->stop(); }

void message_router::pick_up() {
  parts_->priority_reads->run([self = shared_from_this()](store_reader& store) {
    const auto left = store.unacknowledged();
    if (!left) return spdlog::error("stops that are not acknowledged cannot be read: {}", left.error().detail);
    self->says_->make_up_for(*left, store);
  });
}

} // namespace quell::controller::turns
