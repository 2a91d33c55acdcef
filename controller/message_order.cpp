// Decisions about messages, and their JSON for clients and for the store, with its members in alphabetical order.
#include "controller/message_order.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "controller/json/json_writer.hpp"
#include "protocol/blanks.hpp"

namespace quell::controller::turns {

namespace {

using http::json_writer;

constexpr std::array standings{"text", "speaker_owns", "addressed", "only_human", "none"};
constexpr std::array during_turn_names{"queue", "steer", "supersede", "answer"};
constexpr std::array decisions{"cancel", "turn", "ignored"};

const char* manner_name(during_turn how) { return during_turn_names[static_cast<std::size_t>(how)]; }

std::optional<std::string> standing_name(const std::optional<standing>& s) {
  return s ? std::optional<std::string>(standings[static_cast<std::size_t>(*s)]) : std::nullopt;
}

void write_cancel(json_writer& to, const message_answer& a) {
  if (!a.cancel || a.decision != message_answer::decided::cancel) {
    to.put(nullptr);
    return;
  }
  to.open_object().field("durable", a.durable).field("id", a.cancel->text()).field("interrupted", a.interrupted);
  to.field("operations", a.operations).field("outcome", a.cancel_outcome).field("status", a.cancel_status);
  if (a.words_follow) to.field("words_follow", true);
  to.close_object();
}

/// The running turn that the message met.
void write_met(json_writer& to, const message_answer& a) {
  to.open_object();
  if (a.cancel) {
    to.key("cancel").open_object().field("id", a.cancel->text()).field("operations", a.operations);
    to.field("outcome", a.cancel_outcome).close_object();
  }
  to.field("manner", manner_name(a.during)).field("turn", a.met->text()).close_object();
}

void write_turn(json_writer& to, const message_answer& a) {
  if (!a.turn || a.decision != message_answer::decided::turn) {
    to.put(nullptr);
    return;
  }
  to.open_object().field("id", a.turn->text()).field("position", a.position);
  to.field("status", a.turn_status).close_object();
}

} // namespace

std::string decision_json(const message_order& order, const message_answer& a) {
  json_writer to;
  to.open_object();
  to.field("acknowledgement", a.decision == message_answer::decided::cancel ? "pending" : "none");
  to.key("cancel");
  write_cancel(to, a);
  to.field("decision", decisions[static_cast<std::size_t>(a.decision)]);
  to.key("detected").open_object().field("cancel_word", a.cancel_word);
  to.field("standing", standing_name(a.standing)).close_object();
  to.field("duplicate", a.is_duplicate);
  if (a.met && a.decision == message_answer::decided::turn) {
    to.key("during_turn");
    write_met(to, a);
  }
  to.field("id", order.client_id.empty() ? std::nullopt : std::optional(order.client_id));
  to.field("message", a.message).field("scope", order.scope).field("seq", a.seq);
  to.key("turn");
  write_turn(to, a);
  to.field("why", a.why).close_object();
  return to.take();
}

records::event_record decision_event(const message_order& order, const message_answer& answer) {
  records::event_record e;
  e.type = event_type::message_decided;
  e.scope = order.scope;
  e.cancel = answer.cancel;
  e.data = decision_json(order, answer);
  return e;
}

message_answer answer_of(const kept_decision& kept, const message_id& message,
                         const std::optional<operation_id>& turn) {
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
  a.during = kept.during;
  a.met = kept.met;
  if (kept.supersedes_by) a.cancel = kept.supersedes_by;
  return a;
}

std::string files_text(const attachments& files) {
  json_writer to;
  to.open_array();
  for (const auto& f : files) {
    to.open_object().field("blob", f.blob).field("bytes", f.bytes);
    if (f.comes_later) to.field("comes_later", true);
    to.field("name", f.name).field("type", f.type).close_object();
  }
  to.close_array();
  return to.take();
}

std::string kept_text(const kept_decision& d) {
  if (!d.cancel && !d.cancel_word && !d.met && d.files.empty()) return {};
  json_writer to;
  to.open_object();
  if (d.cancel) to.field("cancel", d.cancel->text());
  to.field("cancel_word", d.cancel_word);
  if (d.met) {
    to.key("during").open_object().field("manner", manner_name(d.during));
    to.field("turn", d.met->text()).close_object();
  }
  if (!d.files.empty()) to.raw_field("files", files_text(d.files));
  if (d.cancel) {
    to.key("interrupted").open_array();
    for (const auto& id : d.interrupted) to.put(id);
    to.close_array();
  }
  if (d.cancel || d.supersedes_by) to.field("operations", d.operations).field("outcome", d.cancel_outcome);
  if (d.cancel) to.field("queued", d.queued);
  to.field("standing", standing_name(d.standing));
  if (d.cancel) to.field("status", d.cancel_status);
  if (d.supersedes_by) to.field("supersedes_by", d.supersedes_by->text());
  if (d.modality == modality::voice) to.field("voice", true);
  to.field("why", d.why).close_object();
  return to.take();
}

std::optional<standing> standing_named(std::string_view name) {
  const auto at = std::find(standings.begin(), standings.end(), name);
  if (at == standings.end()) return std::nullopt;
  return static_cast<standing>(at - standings.begin());
}

std::optional<during_turn> during_turn_named(std::string_view name) {
  const auto at = std::find(during_turn_names.begin(), during_turn_names.end(), name);
  if (at == during_turn_names.end()) return std::nullopt;
  return static_cast<during_turn>(at - during_turn_names.begin());
}

std::string with_steered(const std::string& block, const operation_id& turn) {
  const std::string member = R"("steers":")" + turn.text() + R"("})";
  if (!block.starts_with('{') || !block.ends_with('}')) return '{' + member;
  const std::string_view others(block.data(), block.size() - 1);
  return std::string(others) + (others == "{" ? "" : ",") + member;
}

/// A call says more than its task. A turn is named only if nothing runs below it, and so is a voice exchange, which
/// counts as one with its turn.
void choose_names(kept_decision& into, const std::vector<outlined>& live) {
  std::unordered_set<operation_id> roots_at_work; ///< roots below which something was named
  const auto choose = [&](const outlined& o) {
    roots_at_work.insert(o.root);
    if (into.interrupted.size() < most_named) into.interrupted.push_back(o.id);
  };
  std::unordered_set<operation_id> turns, exchanges;
  for (const auto& o : live) {
    if (o.kind == kind::turn) turns.insert(o.id);
    if (o.kind == kind::exchange) exchanges.insert(o.id);
  }
  for (const auto& o : live) {
    const bool is_of_turn = turns.contains(o.root) || exchanges.contains(o.root);
    if (o.kind == kind::tool_call || (o.kind == kind::sub_agent && !is_of_turn)) choose(o);
    // Operations outside of turns are named themselves.
    if ((o.kind == kind::task || o.kind == kind::external) && !is_of_turn) choose(o);
  }
  for (const auto& o : live) {
    const auto& whole = exchanges.contains(o.root) ? o.root : o.id;
    if (o.kind != kind::turn || roots_at_work.contains(whole)) continue;
    if (o.now != status::pending) {
      choose(o);
      continue;
    }
    ++into.queued;
    roots_at_work.insert(whole);
  }
  for (const auto& o : live)
    if (o.kind == kind::exchange && !roots_at_work.contains(o.id)) choose(o);
}

std::string why_ignored(const message_order& order, double least_confidence) {
  if (!order.is_final) return "not_final";
  const bool is_voice = order.modality == modality::voice;
  if (is_voice && order.confidence && *order.confidence < least_confidence) return "low_confidence";
  if (order.files.empty() && is_blank(order.text)) return "empty";
  return {};
}

} // namespace quell::controller::turns
