// Gates that need the ledger, stop words, standing; then the stop, or the turn, with its message in one transaction.
#include "controller/commands/take_message.hpp"

#include "controller/commands/answer_question.hpp"
#include "controller/commands/description.hpp"
#include "controller/commands/message_standing.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commands/running_turn.hpp"
#include "controller/conversations.hpp"
#include "controller/ledger.hpp"
#include "controller/refused_with.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::commands {

using namespace turns;

namespace {

constexpr std::size_t most_waiting = 1000; ///< turns of one scope
constexpr std::size_t title_bytes = 80, reason_bytes = 200;

/// Why the message is a turn or a stop.
struct decision_reason {
  std::string why = "no_cancel_word";
  std::optional<turns::standing> standing;
};

records::message_record record_of(const take_message& command) {
  const auto& order = command.order;
  records::message_record m;
  m.id = command.message;
  m.scope = order.scope;
  m.author = order.author;
  m.client_id = order.client_id;
  m.text = order.text;
  return m;
}

taken_message ignored(const context& with, std::string why) {
  message_answer a;
  a.why = std::move(why);
  a.seq = with.operations.last_seq();
  return {std::move(a)};
}

kept_decision kept_of(const take_message& command, const decision_reason& reason) {
  kept_decision kept;
  kept.why = reason.why;
  kept.cancel_word = command.word;
  kept.standing = reason.standing;
  kept.modality = command.order.modality;
  kept.files = command.order.files;
  return kept;
}

order_cancel stop_by(const take_message& command) {
  const auto& order = command.order;
  cancel_order c;
  c.by_token = order.by;
  c.target = records::target_scope{order.scope};
  c.reason = std::string(utf8_prefix(order.text, reason_bytes));
  c.by = order.author;
  c.via_channel = order.via_channel;
  c.received = command.received;
  return {std::move(c), command.cancel};
}

taken_message take_stop(const take_message& command, const context& with, const decision_reason& reason) {
  const auto& order = command.order;
  auto& local = *with.operations.actors();
  auto kept = kept_of(command, {"cancel_word", reason.standing});
  auto live = local.outline(order.scope, 1000);
  std::erase_if(live, [&](const outlined& o) { return o.id == order.exchange; }); // it is these very words
  choose_names(kept, live);
  if (order.exchange) { // the message has served its purpose
    own_outcome end;
    end.result = command.exchange_result;
    local.finish_local(*order.exchange, end, with.now);
  }
  const auto stop = stop_by(command);
  const auto view = accept(stop, with.operations, with.now);
  if (!view) return {tl::unexpected(view.error())};
  const bool joined = view->record.outcome == cancel_outcome::joined;
  kept.cancel = view->record.id;
  kept.cancel_outcome = std::string(name_of(view->record.outcome));
  kept.cancel_status = std::string(name_of(joined ? view->record.status : cancel_status::fenced));
  kept.operations = view->record.report.operations;
  auto m = record_of(command);
  m.decision = kept_text(kept);
  m.acknowledged = false;
  auto a = answer_of(kept, m.id, std::nullopt);
  a.seq = local.add_message(std::move(m), with.now);
  with.talks.recent.put(order.scope, order.client_id, a, with.now.boot);
  taken_message taken{std::move(a), taken_message::then::stop, std::move(kept)};
  if (must_be_fenced(stop, view)) taken.fences = taken.kept.cancel;
  return taken;
}

create_order turn_for(const take_message& command, bool waits) {
  const auto& order = command.order;
  create_order turn;
  turn.by = order.by;
  turn.kind = kind::turn;
  turn.parent = order.exchange ? order.exchange : order.parent;
  turn.scope = order.scope;
  turn.name = command.agent->name;
  turn.title = std::string(utf8_prefix(order.text, title_bytes));
  if (turn.title.empty() && !order.files.empty())
    turn.title = std::string(utf8_prefix(order.files.front().name, title_bytes));
  turn.owner = order.author;
  turn.labels = order.labels;
  turn.timeout = command.agent->timeout;
  turn.start = waits ? start_when::later : start_when::now;
  turn.kind_data = command.agent->kind_data;
  if (command.again) turn.as_of_seq = command.again->as_of;
  return turn;
}

/// Stops the running turn, as its stop button does: what waits behind it stays. A stop that is refused leaves the
/// message in the queue. The cancel, if it must be fenced.
std::optional<cancel_id> supersede(const take_message& command, const context& with, kept_decision& kept) {
  const order_cancel stop{superseding(command.order, *kept.met, command.received), command.cancel};
  const auto view = accept(stop, with.operations, with.now);
  if (!view) {
    kept.during = during_turn::queue;
    kept.met.reset();
    kept.why = "no_standing";
    return std::nullopt;
  }
  kept.supersedes_by = view->record.id;
  kept.cancel_outcome = std::string(name_of(view->record.outcome));
  kept.operations = view->record.report.operations;
  return must_be_fenced(stop, view) ? kept.supersedes_by : std::nullopt;
}

/// The open question of the running turn of the message's author; nullptr: this message may answer none. A chat only
/// names its people, so it answers for nobody whose turn no chat began.
const possible_answer* question_for_author(const take_message& command, const context& with) {
  const bool is_by_chat = way_of(command.order) == brought_by::chat;
  for (const auto& one : command.answers) {
    if (one.owner != command.order.author.id || (is_by_chat && !one.is_by_chat)) continue;
    const auto call = with.operations.view(one.call, with.now);
    if (call && waits_for_answer(call->hot, one.given.question)) return &one;
  }
  return nullptr;
}

/// The message, its turn, which ends at once, and the end of the call that asks are one transaction.
taken_message take_answer(const take_message& command, const context& with, const possible_answer& what) {
  const auto& order = command.order;
  const auto made = with.operations.create(turn_for(command, true), command.turn, with.now);
  if (!made) return {tl::unexpected(made.error())};
  auto kept = kept_of(command, {});
  kept.during = during_turn::answer;
  kept.met = what.turn;
  auto m = record_of(command);
  m.turn = command.turn;
  m.decision = kept_text(kept);
  m.discarded = true; // its words are the call's result
  auto a = answer_of(kept, m.id, m.turn);
  a.turn_status = status::completed;
  auto& local = *with.operations.actors();
  a.seq = local.add_message(std::move(m), with.now);
  with.operations.add_event(decision_event(order, a), with.now);
  local.finish_local(command.turn, what.message_end, with.now);
  apply(answer_question{what.call, what.given, what.end}, with);
  with.talks.recent.put(order.scope, order.client_id, a, with.now.boot);
  taken_message taken{std::move(a)};
  taken.answered = {what.call, what.given};
  return taken;
}

taken_message take_turn(const take_message& command, const context& with, const decision_reason& reason) {
  const auto& order = command.order;
  if (!command.agent) return {tl::unexpected(command.agent.error())};
  if (with.storage_low)
    return {
        refused_with(error_code::storage_unavailable, "the state directory is low on space, so nothing new is begun")};
  if (const auto* open = question_for_author(command, with)) return take_answer(command, with, *open);
  if (order.during == during_turn::answer)
    return {refused_with(error_code::not_paused, "nothing in scope " + order.scope.text() + " asks " + order.author.id +
                                                     " anything (any more)")};
  const auto before = with.talks.length(order.scope);
  if (before >= most_waiting)
    return {refused_with(error_code::too_many_operations, "1,000 turns of this scope wait already")};
  if (order.parent && with.operations.actors()->is_below_turn_in(*order.parent, order.scope))
    return {refused_with(error_code::invalid_field,
                         "the parent " + order.parent->text() + " belongs to a turn of scope " + order.scope.text() +
                             ", and turns of one scope run one after the other: name a scope below it",
                         "/parent")};
  const auto met = before > 0 && !command.again ? meet_running_turn(order, with) : met_turn{};
  if (!met.unheard.empty())
    return {refused_with(error_code::invalid_field,
                         "the turn that runs has its own " + met.unheard +
                             ", which a message that steers it cannot "
                             "change: leave it out, or let the message wait (during_turn queue)",
                         "/" + met.unheard)};
  auto kept = kept_of(command, reason);
  kept.during = met.manner;
  kept.met = met.turn;
  if (met.lacks_standing) {
    kept.why = "no_standing";
    kept.standing = standing::none;
  }
  auto turn = turn_for(command, before > 0);
  if (met.manner == during_turn::steer) turn.kind_data = with_steered(turn.kind_data, *met.turn);
  const auto made = with.operations.create(turn, command.turn, with.now);
  if (!made) return {tl::unexpected(made.error())};
  const auto fences = met.manner == during_turn::supersede ? supersede(command, with, kept) : std::nullopt;
  auto m = record_of(command);
  m.turn = command.turn;
  m.decision = kept_text(kept);
  auto a = answer_of(kept, m.id, m.turn);
  a.turn_status = before == 0 ? status::running : status::pending;
  a.position = static_cast<std::uint32_t>(before);
  a.seq = with.operations.actors()->add_message(std::move(m), with.now);
  with.operations.add_event(decision_event(order, a), with.now);
  if (before == 0)
    with.talks.note_begun(command.turn, order.author.id, order.scope,
                          reason.standing == standing::none ? turn_of::refused_stop : turn_of::message,
                          command.agent->name, way_of(order));
  const bool is_first = with.talks.enter({command.turn, order.scope});
  with.talks.recent.put(order.scope, order.client_id, a, with.now.boot);
  return {std::move(a), is_first ? taken_message::then::begin_turn : taken_message::then::queue_turn, {}, fences};
}

/// The new turn and the end of the old exchanges are one transaction: no crash leaves both, or neither.
taken_message ask_again(const take_message& command, const context& with) {
  if (!with.talks.is_alone(command.again->change, command.order.scope))
    return {refused_with(error_code::turn_running, "another message came first; nothing was done")};
  auto taken = take_turn(command, with, {"regenerated", {}});
  if (!taken.answer) return taken;
  for (const auto& turn : command.again->discarded) with.rows.emplace_back(records::discard_message{turn});
  for (auto copy : command.again->steering) {
    copy.turn = command.turn;
    taken.answer->seq = with.operations.actors()->add_message(std::move(copy), with.now);
  }
  return taken;
}

} // namespace

take_message::answer apply(const take_message& command, const context& with) {
  if (command.again) return ask_again(command, with);
  const auto& order = command.order;
  if (const auto* same = with.talks.recent.find(order.scope, order.client_id, with.now.boot)) return {*same};
  const bool is_for_others = order.addressed == false;
  if (!command.word && is_for_others && order.modality == modality::text) return ignored(with, "not_addressed");
  decision_reason reason;
  if (command.word) {
    const bool has_passed =
        order.wants == message_order::scope_of_decision::only_turn; // it was checked before and is not a stop
    reason.standing = has_passed ? standing::none : standing_of(order, with);
    const bool is_idle = is_idle_but_for(order, with);
    if (is_idle && is_for_others) return ignored(with, "nothing_active");
    if (is_idle)
      reason.why = "nothing_active";
    else if (reason.standing == standing::none)
      reason.why = "no_standing";
    else
      return take_stop(command, with, reason);
  }
  if (order.wants != message_order::scope_of_decision::only_stop) return take_turn(command, with, reason);
  auto passed = ignored(with, reason.why);
  passed.answer->decision = message_answer::decided::turn;
  passed.answer->cancel_word = command.word;
  return passed;
}

std::string describe(const take_message& command) {
  const auto& o = command.order;
  description text(take_message::name);
  text.shown("message", command.message.text()).shown("scope", o.scope.text()).redacted("text", o.text);
  text.shown("author", o.author.id).shown("client_id", o.client_id).shown("via", o.via_channel);
  text.flag("voice", o.modality == modality::voice).flag("stop_word", command.word.has_value());
  if (command.again) text.count("discarded", command.again->discarded.size());
  return text.by(o.by).done();
}

} // namespace quell::controller::commands
