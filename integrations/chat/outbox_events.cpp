// An outbox's handling of events.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "integrations/chat/json_text.hpp"
#include "integrations/chat/outbox_state.hpp"
#include "protocol/stop_signs.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat {
namespace {

using nlohmann::json;

constexpr std::size_t most_received = 64;    ///< messages per place whose ids are known
constexpr std::size_t most_replies = 20'000; ///< whose end has not been delivered
constexpr std::size_t most_input = 1000;     ///< bytes of a call's input that are shown
constexpr const char* stop_reaction = "🛑";

std::uint64_t number_of(const json& data, const char* name) {
  const auto found = data.find(name);
  return found != data.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::optional<cancel_id> cancel_of(const json& data) { return cancel_id::parse(text_of(data, "cancel")); }
std::optional<message_id> message_of(const json& data) { return message_id::parse(text_of(data, "message")); }

reply& reply_of(outbox::outbox_state& b, const operation_id& turn, const event& e, boot_time now) {
  if (b.replies.size() >= most_replies && !b.replies.contains(turn)) {
    b.lose(1, b.replies.begin()->second.scope, "too many replies are under way at once", now);
    b.replies.erase(b.replies.begin());
  }
  auto& r = b.replies[turn];
  if (r.scope.text() != e.scope.text()) r.scope = e.scope;
  return r;
}

void say_delta(outbox::outbox_state& b, const operation_id& turn, const event& e, const json& data, boot_time now) {
  const bool is_new = !b.replies.contains(turn);
  auto& r = reply_of(b, turn, e, now);
  const auto offset = number_of(data, "offset");
  const auto text = text_of(data, "text");
  const auto end = offset + code_points(text);
  if (r.waits_for_end) return;
  if (is_new) r.received = offset; // its beginning was not delivered to us
  if (end <= r.received) return;
  r.waits_for_end = offset > r.received;
  if (r.waits_for_end) return; // what comes before it was not delivered
  const auto fresh = offset >= r.received ? std::string_view(text) : without_characters(text, r.received - offset);
  r.received = end;
  if (!r.is_over) b.append(b.at(e.scope, now), turn, r, fresh, now);
}

/// The turn goes on after a restart: what came behind the offset is replaced. If the end of what stands before it was
/// not delivered to us, the rest waits for the whole text.
void resume(outbox::outbox_state& b, const operation_id& turn, const event& e, const json& data, boot_time now) {
  const auto found = b.replies.find(turn);
  const auto offset = number_of(data, "offset");
  if (found == b.replies.end() || found->second.is_over) return;
  auto& r = found->second;
  if (r.received > offset) b.take_back(b.at(e.scope, now), turn, r.received - offset);
  r.waits_for_end = r.received < offset;
  r.received = std::min(r.received, offset);
}

/// Why an answer that ended by itself is less than was wanted; "" = it is whole.
std::string why_less(const std::string& stop_reason) {
  if (stop_reason == "length") return "The reply was cut: it reached the limit of one answer.";
  if (stop_reason == "content_filter") return "The provider's content filter cut the reply.";
  if (stop_reason == "refusal") return "The model refused to answer.";
  return {};
}

void complete(outbox::outbox_state& b, const operation_id& turn, const event& e, const json& data, boot_time now) {
  auto& r = reply_of(b, turn, e, now);
  if (!r.is_over) {
    auto& in = b.at(e.scope, now);
    const auto text = text_of(data, "text");
    if (const auto rest = without_characters(text, r.received); !rest.empty()) b.append(in, turn, r, rest, now);
    b.close(in, turn);
    const auto why = why_less(text_of(data, "stop_reason"));
    if (!why.empty() && !b.rules.words.less_than_whole.empty())
      b.add_notice(in, &r, b.rules.words.less_than_whole + why);
  }
  b.replies.erase(turn);
}

/// The reason in display words instead of the API's.
std::string why_early(const std::string& reason) {
  if (reason == "timeout") return "it took too long";
  if (reason == "interrupted") return "it was interrupted by a restart";
  if (reason == "budget") return "its budget is used up";
  return "something went wrong";
}

/// The commands in the background that the stop of a turn passed by; "" = none.
std::string left_behind(const json& data) {
  constexpr std::size_t most_listed = 16; // by the ledger
  const auto& ids = member_of(data, "still_running");
  if (!ids.is_array() || ids.empty()) return {};
  const auto count = ids.size();
  return (count >= most_listed ? "at least " : "") + std::to_string(count) + (count == 1 ? " command" : " commands") +
         ". A stop of the whole conversation ends " + (count == 1 ? "it" : "them") + ", too.";
}

void abort(outbox::outbox_state& b, const operation_id& turn, const event& e, const json& data, boot_time now) {
  const auto reason = text_of(data, "reason");
  const auto found = b.replies.find(turn);
  const bool was_dropped = found != b.replies.end() && found->second.is_over && !found->second.says_why;
  auto& in = b.at(e.scope, now);
  // A message of its own reports that it ended early.
  const bool is_early = reason == "timeout" || reason == "error" || reason == "interrupted" || reason == "budget";
  const auto cut_off = is_early && !b.rules.words.ended_early.empty() ? std::string() : b.rules.words.cut_mark;
  b.drop(in, turn, {}, reason == "user" ? nullptr : &cut_off);
  if (!was_dropped && is_early && !b.rules.words.ended_early.empty())
    b.add_notice(in, found != b.replies.end() ? &found->second : nullptr,
                 b.rules.words.ended_early + ": " + why_early(reason) + ".");
  if (const auto left = left_behind(data); !left.empty() && !b.rules.words.still_running.empty())
    b.add_notice(in, nullptr, b.rules.words.still_running + left);
  b.replies.erase(turn);
}

void decided_message(outbox& o, outbox::outbox_state& b, const event& e, const json& data, boot_time now) {
  const auto id = message_of(data);
  if (id) b.remember(b.at(e.scope, now), *id, text_of(data, "id"));
  // "nothing_active" means a cancel word too: text that is complete but still queued is not wanted either.
  if (text_of(data, "why") == "nothing_active") o.drop_all(e.scope, now);
  if (text_of(data, "decision") != "cancel") return;
  const auto& stop = member(data, "cancel");
  const auto cancel = cancel_id::parse(text_of(stop, "id"));
  b.drop_below(e.scope, cancel);
  if (!id || !cancel || stop.value("words_follow", json()) != true) return;
  auto& in = b.at(e.scope, now);
  b.begin_notice(in, b.notice_of(in, *id, cancel), now);
}

/// The id under which a human decides: the question of a call that has begun, or the call that waits to begin.
std::optional<operation_id> turn_asking(const json& data) {
  const auto found = data.find("question");
  if (found == data.end()) return operation_id::parse(text_of(data, "operation"));
  return operation_id::parse(found->is_string() ? found->get<std::string>() : text_of(*found, "id"));
}

/// The question of an agent to the people of its conversation: its text, and the numbered choices.
std::string agents_question_text(const json& question_json) {
  std::string text = text_of(question_json, "message"), choices;
  const auto& answer = member(member(member(question_json, "form"), "properties"), "answer");
  const auto& list = member_of(answer, "enum");
  for (std::size_t i = 0; list.is_array() && i < list.size(); ++i)
    if (list[i].is_string())
      choices += (i == 0 ? "" : ", ") + std::to_string(i + 1) + ": " + list[i].get<std::string>();
  return text + (choices.empty() ? "" : " (" + choices + ")");
}

/// The question of a call that has begun, in one line: the server's text, and the names of the requested fields.
std::string question_text(const json& question_json) {
  if (text_of(question_json, "asked_by") == "agent") return agents_question_text(question_json);
  std::string text = text_of(question_json, "message"), names;
  for (const auto& [name, field] : member(member(question_json, "form"), "properties").items())
    names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? text : text + " (" + names + ")";
}

void ask(outbox::outbox_state& b, const event& e, const json& data, boot_time now) {
  const auto call = turn_asking(data);
  if (!call) return;
  auto& in = b.at(e.scope, now);
  if (e.root) b.close(in, *e.root); // text from before stands above the question, later text below it
  question q{*call, text_of(data, "name"), {}, true};
  if (const auto input = data.find("input"); input != data.end()) {
    const auto whole = input->dump(-1, ' ', false, json::error_handler_t::replace);
    q.input = utf8_prefix(whole, most_input);
    if (q.input.size() < whole.size()) q.input += "…";
  }
  bool is_of_agent = false;
  if (const auto& question_json = member(data, "question"); !question_json.empty()) {
    is_of_agent = text_of(question_json, "asked_by") == "agent";
    const auto whole = question_text(question_json);
    q.name = text_of(question_json, "server") + " asks:";
    q.input = utf8_prefix(whole, most_input);
    if (q.input.size() < whole.size()) q.input += "…";
  }
  part p;
  p.what = part_kind::approval;
  p.turn = e.root;
  p.text = b.one_message((is_of_agent ? std::string("❓ ") : b.rules.words.wants_approval) +
                         without_stop_signs(q.name + " " + q.input));
  p.asks = std::move(q);
  b.add(in, std::move(p));
}

void answer(outbox::outbox_state& b, const event& e, const json& data, boot_time now) {
  const auto call = turn_asking(data);
  if (!call) return;
  const auto by = text_of(member(data, "by"), "name");
  const auto decision = text_of(data, "decision");
  const bool is_answer = data.contains("question") && decision == "approved";
  b.close_question(b.at(e.scope, now), *call,
                   (is_answer ? std::string("answered") : decision) + (by.empty() ? "" : " by " + by));
}

void fenced(outbox::outbox_state& b, const event& e, const json& data) {
  const auto& target = member(data, "target");
  if (const auto scope = scope_path::parse(text_of(target, "scope")); scope && !target.contains("owner"))
    b.drop_below(*scope, cancel_of(data));
  else if (const auto id = operation_id::parse(text_of(target, "operation")))
    b.drop_reply(*id, cancel_of(data));
  else if (target.contains("everything"))
    b.drop_below(e.scope, cancel_of(data));
}

void tool(outbox::outbox_state& b, const event& e, const json& data, bool begins, boot_time now) {
  if (!e.root) return;
  const auto found = b.replies.find(*e.root);
  if (found == b.replies.end() || found->second.is_over) return;
  auto& in = b.at(found->second.scope, now);
  if (!b.rules.can_edit) {
    if (begins) b.close(in, *e.root); // the text so far is sent while the tool runs
    return;
  }
  if (b.rules.words.working.empty()) return;
  if (begins) b.append(in, *e.root, found->second, {}, now);
  for (auto& p : in.parts) {
    if (p.what != part_kind::reply || !p.is_open || p.turn != e.root) continue;
    p.status = begins ? b.rules.words.working + b.one_message(text_of(data, "name")) : std::string{};
  }
}

bool is_about_turn(const event& e) { return e.operation && (!e.root || *e.root == *e.operation); }

/// A stop without a cancel is none that a person ordered: the end of the turn tells them of it.
void stop_begins(outbox::outbox_state& b, const operation_id& turn, const std::optional<cancel_id>& cancel) {
  const auto found = b.replies.find(turn);
  const bool says_why = found != b.replies.end() && !found->second.is_over && !cancel;
  b.drop_reply(turn, cancel);
  if (says_why) found->second.says_why = true;
}

/// Whether the event can change anything here.
bool is_shown(const event& e) {
  switch (e.type) {
  case event_type::text_delta:
  case event_type::turn_start:
  case event_type::turn_resumed:
  case event_type::turn_complete:
  case event_type::turn_abort:
  case event_type::model_queued:
  case event_type::model_asked:
    return is_about_turn(e);
  case event_type::tool_start:
  case event_type::tool_result:
  case event_type::message_decided:
  case event_type::acknowledgement:
  case event_type::approval_required:
  case event_type::approval_resolved:
  case event_type::cancel_fenced:
  case event_type::cancel_settled:
  case event_type::operation_cancelling:
    return true;
  default:
    return is_about_turn(e) && ends_operation(e.type);
  }
}

} // namespace

void outbox::outbox_state::remember(place& in, const message_id& message, std::string name) {
  if (name.empty()) return;
  for (const auto& [known, as] : in.received_messages)
    if (known == message) return;
  in.received_messages.emplace_back(message, std::move(name));
  if (in.received_messages.size() > most_received) in.received_messages.pop_front();
}

void outbox::on_event(const event& e, boot_time now) {
  auto& b = *state_;
  if (e.id != 0 && e.id <= b.last_event) return;
  if (e.id != 0) b.last_event = e.id;
  if (!is_shown(e)) return;
  ++b.changes;
  if (e.operation && (e.type == event_type::operation_cancelling || ends_operation(e.type)))
    if (const auto at = b.places.find(e.scope); at != b.places.end()) b.leave_line(at->second, *e.operation);
  const json data = json::parse(e.data, nullptr, false);
  if (!data.is_object()) return;
  const bool is_turn = is_about_turn(e);
  if (e.type == event_type::model_queued) {
    if (const auto r = b.replies.find(*e.operation); r != b.replies.end())
      b.show_model_wait(b.at(e.scope, now), *e.operation, r->second, now);
    return;
  }
  if (is_turn) b.end_model_wait(*e.operation); // whatever else it tells about itself
  if (e.type == event_type::text_delta && is_turn)
    say_delta(b, *e.operation, e, data, now);
  else if (e.type == event_type::turn_resumed && is_turn)
    resume(b, *e.operation, e, data, now);
  else if (e.type == event_type::turn_start && is_turn) {
    auto& r = reply_of(b, *e.operation, e, now);
    auto& in = b.at(e.scope, now);
    r.reply_to = in.known_as(message_of(data));
    b.begin_turn(in, *e.operation);
  } else if (e.type == event_type::turn_complete && is_turn)
    complete(b, *e.operation, e, data, now);
  else if (e.type == event_type::turn_abort && is_turn)
    abort(b, *e.operation, e, data, now);
  else if (e.type == event_type::tool_start || e.type == event_type::tool_result)
    tool(b, e, data, e.type == event_type::tool_start, now);
  else if (e.type == event_type::message_decided)
    decided_message(*this, b, e, data, now);
  else if (e.type == event_type::acknowledgement)
    b.acknowledge(
        b.at(e.scope, now),
        {message_of(data), cancel_of(data), text_of(data, "text"), text_of(data, "reaction"), text_of(data, "state")},
        now);
  else if (e.type == event_type::approval_required)
    ask(b, e, data, now);
  else if (e.type == event_type::approval_resolved)
    answer(b, e, data, now);
  else if (e.type == event_type::cancel_fenced)
    fenced(b, e, data);
  else if (e.type == event_type::cancel_settled && cancel_of(data))
    b.settle(*cancel_of(data), b.end_mark(data.value("proven", json()) == true, number_of(data, "not_confirmed"),
                                          number_of(data, "operations")));
  else if (e.type == event_type::operation_cancelling && e.operation)
    stop_begins(b, *e.operation, cancel_of(data));
  else if (is_turn && ends_operation(e.type))
    b.mark_ended(e.scope, *e.operation, cancel_of(data));
}

void outbox::passed_by(const scope_path& scope, const decision& what, boot_time now) {
  if (what.what == decided::ignored && what.why == "nothing_active") drop_all(scope, now);
}

void outbox::on_decision(const scope_path& scope, const decision& what, std::string service_id, boot_time now) {
  passed_by(scope, what, now);
  if (!what.message) return;
  auto& in = state_->at(scope, now);
  if (what.what == decided::turn && what.position > 0 && what.turn && !what.is_duplicate)
    state_->show_wait(in, *what.turn, what.position, service_id);
  state_->remember(in, *what.message, std::move(service_id));
  if (what.is_acknowledged) state_->acknowledge(in, {what.message, {}, {}, stop_reaction, {}}, now);
}

} // namespace quell::integrations::chat
