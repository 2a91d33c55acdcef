// Messages, calls and turns as they reach the disk: one result per call, one end per turn, one turn at a time.
#include "tests/simulation/turn_truth.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/kept_decision.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller::turns;

void turn_truth::committed(const std::vector<records::entry>& rows) {
  for (const auto& e : rows) {
    if (world_.failed()) return;
    if (const auto* m = std::get_if<records::put_message>(&e)) {
      put(m->record);
    } else if (const auto* c = std::get_if<records::put_call>(&e)) {
      put(c->record);
    } else if (const auto* r = std::get_if<records::put_call_result>(&e)) {
      const auto at = calls_.find(r->operation);
      if (at == calls_.end())
        world_.violate("one result per call", "a result is stored of a call that is not there");
      else if (!at->second.outcome)
        at->second.outcome = r->outcome;
    } else if (const auto* u = std::get_if<records::update_operation>(&e)) {
      if (is_terminal(u->hot.now)) check_end_of_dead(u->id, u->hot);
    } else if (const auto* d = std::get_if<records::discard_message>(&e)) {
      if (const auto at = turns_.find(d->turn); at != turns_.end()) at->second.is_discarded = true;
    } else if (const auto* o = std::get_if<records::put_operation>(&e)) {
      check_new_operation(*o->record);
    } else if (const auto* event = std::get_if<records::put_event>(&e)) {
      put(event->record);
    }
  }
  check_calls(rows);
  for (const auto& e : rows)
    if (const auto* u = std::get_if<records::update_operation>(&e); u && !world_.failed())
      check_calls_of_dead(u->id, u->hot);
}

void turn_truth::put(const records::message_record& m) {
  if (!messages_.emplace(m.seq, m).second) return;
  if (!m.client_id.empty() && !by_client_id_.emplace(std::pair(m.scope.text(), m.client_id), m.id).second)
    return world_.violate("answered once", "the message " + m.client_id + " is stored twice");
  if (m.role != records::message_role::user || !m.turn) return;
  world_.note("disk", [&] { return "message \"" + m.text + "\" is kept, for turn " + world_.label(*m.turn); });
  if (m.text.find('#') != std::string::npos || m.aside) turn_of_text_[m.text] = *m.turn;
  auto& turn = turns_[*m.turn];
  if (turn.seq != 0) return world_.violate("answered once", world_.label(*m.turn) + " answers two messages");
  turn.scope = m.scope;
  turn.seq = m.seq;
  turn.is_of_scope = !m.aside;
}

void turn_truth::put(const records::call_record& c) {
  auto& call = calls_[c.operation];
  call.record = c;
  if (c.outcome && !call.outcome) call.outcome = c.outcome;
}

/// Guarantee 13: the transaction that closes a call contains its result.
void turn_truth::check_calls(const std::vector<records::entry>& rows) {
  if (world_.failed() || world_.truth.writes_failed()) return;
  for (const auto& e : rows) {
    const auto* u = std::get_if<records::update_operation>(&e);
    if (!u) continue;
    const auto at = calls_.find(u->id);
    if (at == calls_.end()) continue;
    const bool closes = is_terminal(u->hot.now) || u->hot.now == status::cancelling || u->hot.self_status.has_value();
    const auto& outcome = at->second.outcome;
    const auto wrong = [&](const std::string& text) {
      world_.violate("one result per call", world_.label(u->id) + " is " + std::string(name_of(u->hot.now)) + text);
    };
    if (closes && !outcome) return wrong(" on disk and has no result");
    if (!is_terminal(u->hot.now)) continue;
    if (u->hot.now == status::completed && !outcome->ok) return wrong(", and its result is not ok");
    if (u->hot.now == status::cancelled && outcome->ok) return wrong(", and its result is ok");
  }
}

/// The turn of an actor that died ends as interrupted, unless a stop or an end of its own came first.
void turn_truth::check_end_of_dead(const operation_id& id, const records::operation_hot& hot) {
  const auto at = dead_.find(id);
  if (at == dead_.end() || at->second == actors::turn_phase::done || hot.stop) return;
  if (hot.now != status::failed || !hot.error || !has_code(*hot.error, failure_code::interrupted))
    world_.violate("death of an actor", world_.label(id) + " is " + std::string(name_of(hot.now)) +
                                            (hot.error ? ", " + hot.error->code : "") + ", and its actor had thrown");
}

/// Its calls end with it, in the same transaction, because nobody is left who would answer their stop.
void turn_truth::check_calls_of_dead(const operation_id& id, const records::operation_hot& hot) {
  const auto at = dead_.find(id);
  if (at == dead_.end() || at->second == actors::turn_phase::done || world_.truth.writes_failed()) return;
  const auto is_over = [](const records::operation_hot& row) { return row.self_status || is_terminal(row.now); };
  if (!is_over(hot)) return;
  for (const auto& [call, truth] : calls_) {
    const auto* row = world_.truth.record_of(call);
    if (row && row->parent == id && row->hot.started_at && !is_over(row->hot))
      return world_.violate("death of an actor", world_.label(id) + " is over, its actor had thrown, and its call " +
                                                     world_.label(call) + " waits for an answer");
  }
}

std::string turn_truth::left_by_its_actor() const {
  for (const auto& [id, phase] : dead_) {
    const auto* row = world_.truth.record_of(id);
    if (row && !is_terminal(row->hot.now)) return world_.label(id);
  }
  return {};
}

/// A call starts its work once, and after a human's approval if it needs one.
void turn_truth::check_new_operation(const records::operation_record& r) {
  if (!r.parent || (r.kind != kind::task && r.kind != kind::sub_agent)) return;
  const auto at = calls_.find(*r.parent);
  if (at == calls_.end()) return;
  auto& call = at->second;
  const auto own_work = call.record.name == "spawn_agent" ? kind::sub_agent : kind::task;
  if (r.kind != own_work) return;
  if (++call.runs > 1) world_.violate("a call runs once", world_.label(*r.parent) + " runs a second time");
  if (call.outcome) world_.violate("a call runs once", world_.label(*r.parent) + " runs and has its result already");
  if (call.record.input.find("rm -r") != std::string::npos && !call.was_approved)
    world_.violate("approval", world_.label(*r.parent) + " runs, and nobody who may has approved it");
}

void turn_truth::put(const records::event_record& e) {
  if (e.type == event_type::acknowledgement) return check_acknowledgement(e);
  if (e.type == event_type::message_decided) return check_announcement(e);
  if (!e.operation) return;
  if (e.type == event_type::turn_start) return check_turn_start(*e.operation);
  if (e.type == event_type::text_delta || e.type == event_type::turn_resumed || e.type == event_type::turn_complete)
    check_shown(e);
  if (e.type == event_type::turn_complete || e.type == event_type::turn_abort) {
    if (++turns_[*e.operation].ends > 1)
      world_.violate("answered once", "the end of " + world_.label(*e.operation) + " is told twice");
    const auto* row = world_.truth.record_of(*e.operation);
    const auto own = row ? row->hot.self_status.value_or(row->hot.now) : status::pending;
    if (e.type == event_type::turn_complete && (own == status::cancelled || own == status::failed))
      world_.violate("answered once", world_.label(*e.operation) + " completed, it is told, and is " +
                                          std::string(name_of(own)) + " on disk");
  }
  const auto call = calls_.find(*e.operation);
  if (call == calls_.end()) return;
  if (e.type == event_type::operation_started && ++call->second.begun > 1)
    world_.violate("a call runs once", world_.label(*e.operation) + " begins a second time");
  if (e.type == event_type::approval_required) call->second.was_requested = true;
  if (e.type == event_type::approval_resolved) check_resolved(e);
}

/// A watcher that puts each text at its offset, and after a resume drops what stood behind its offset, shows the text
/// of the turn. The row counts each resume before it is told, and three are the most.
void turn_truth::check_shown(const records::event_record& e) {
  if (world_.truth.writes_failed()) return;
  auto& turn = turns_[*e.operation];
  const auto wrong = [&](const std::string& text) { world_.violate("goes on", world_.label(*e.operation) + text); };
  const auto data = nlohmann::json::parse(e.data, nullptr, false);
  if (!data.is_object()) return;
  const auto text = data.value("text", std::string());
  if (e.type == event_type::turn_complete) {
    if (text != turn.shown) wrong(" completes with another text than was shown: \"" + turn.shown + "\"");
    return;
  }
  const auto offset = data.value("offset", std::size_t{0}); // the models write no multi-byte characters
  if (offset > turn.shown.size()) return wrong(" shows a text behind a gap");
  if (e.type == event_type::text_delta && offset < turn.shown.size()) return wrong(" shows a text twice");
  turn.shown = turn.shown.substr(0, offset) + text;
  const auto* row = world_.truth.record_of(*e.operation);
  if (e.type != event_type::turn_resumed || !row || row->kind != kind::turn) return;
  const auto counted = nlohmann::json::parse(row->hot.result, nullptr, false);
  const int times = counted.is_object() ? counted.value("resumes", 0) : 0;
  if (++turn.resumes > 3) wrong(" is resumed a fourth time");
  if (times < turn.resumes && !row->hot.self_status && !is_terminal(row->hot.now))
    wrong(" is resumed for time " + std::to_string(turn.resumes) + ", and its row counts " + std::to_string(times));
}

/// One turn after the other in each scope, in the order of the messages.
void turn_truth::check_turn_start(const operation_id& turn) {
  auto& mine = turns_[turn];
  if (++mine.starts > 1) return world_.violate("one turn at a time", world_.label(turn) + " begins twice");
  if (!mine.is_of_scope || world_.truth.writes_failed()) return;
  for (const auto& [id, other] : turns_) {
    if (id == turn || !other.is_of_scope || other.scope != mine.scope) continue;
    const auto* row = world_.truth.record_of(id);
    if (!row || row->hot.self_status || is_terminal(row->hot.now) || row->hot.stop || world_.truth.closed_since(id))
      continue;
    if (other.starts > 0)
      world_.violate("one turn at a time", world_.label(turn) + " begins while " + world_.label(id) + " is at work");
    else if (other.seq < mine.seq)
      world_.violate("one turn at a time", world_.label(turn) + " begins before " + world_.label(id));
  }
}

std::string turn_truth::forgotten() const {
  const auto is_over = [&](const operation_id& id) {
    const auto* row = world_.truth.record_of(id);
    return !row || row->hot.self_status || is_terminal(row->hot.now);
  };
  for (const auto& [id, turn] : turns_) {
    const auto& scope = turn.scope;
    if (!turn.is_of_scope || turn.starts > 0 || is_over(id) || world_.truth.record_of(id)->hot.stop) continue;
    const bool waits = std::any_of(turns_.begin(), turns_.end(), [&](const auto& other) {
      return other.second.is_of_scope && other.second.starts > 0 && other.second.scope == scope &&
             !is_over(other.first);
    });
    if (!waits) return world_.label(id);
  }
  return {};
}

/// Calls and messages that a crash interrupted are on disk or not: the oracle reads the disk.
void turn_truth::recovered() {
  dead_.clear(); // the next life resumes what it finds
  auto* database = world_.disk.database();
  if (!world_.plan.chats || !database) return;
  std::set<std::uint64_t> kept;
  SQLite::Statement all(*database, "SELECT seq FROM message");
  while (all.executeStep()) kept.insert(static_cast<std::uint64_t>(all.getColumn(0).getInt64()));
  for (const auto& [seq, m] : messages_)
    if (!kept.contains(seq)) return world_.violate("not lost", "message " + std::to_string(seq) + " is gone");
  std::map<std::vector<unsigned char>, std::pair<bool, std::string>> found;
  SQLite::Statement calls(*database, "SELECT operation, ok, result FROM call");
  while (calls.executeStep()) {
    const auto blob = calls.getColumn(0);
    const auto* bytes = static_cast<const unsigned char*>(blob.getBlob());
    if (!calls.getColumn(2).isNull())
      found[{bytes, bytes + blob.getBytes()}] = {calls.getColumn(1).getInt() != 0, calls.getColumn(2).getString()};
  }
  for (auto& [id, call] : calls_) {
    const auto at = found.find({id.bytes.begin(), id.bytes.end()});
    if (at == found.end() && call.outcome)
      return world_.violate("one result per call", "the result of " + world_.label(id) + " is gone");
    if (at == found.end()) continue;
    if (call.outcome && (call.outcome->ok != at->second.first || call.outcome->result != at->second.second))
      return world_.violate("one result per call", "the result of " + world_.label(id) + " is another one now");
    if (!call.outcome) call.outcome = records::call_outcome{at->second.first, false, at->second.second};
  }
}

/// Everything is at rest: each answer with calls is followed by its results, and each message has its one end.
void turn_truth::check_the_end() {
  if (world_.truth.writes_failed()) return;
  recovered(); // announced messages must be on disk
  for (const auto& [seq, m] : messages_) {
    if (read_kept(m.decision).cancel && !announced_.contains(m.id.text()))
      return world_.violate("announced", "no watcher was told of the stop by message " + std::to_string(seq));
    if (m.role != records::message_role::assistant) continue;
    std::vector<const call_truth*> mine;
    for (const auto& [id, call] : calls_)
      if (call.record.answer == seq) mine.push_back(&call);
    if (mine.empty()) continue;
    std::sort(mine.begin(), mine.end(), [](auto* a, auto* b) { return a->record.position < b->record.position; });
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (mine[i]->record.position != i || !mine[i]->outcome)
        return world_.violate("one result per call",
                              "the answer " + std::to_string(seq) +
                                  (mine[i]->outcome ? " misses a call" : " has a call without result"));
    const auto& whose = m.turn;
    const auto next = messages_.upper_bound(seq);
    const auto behind = std::find_if(next, messages_.end(), [&](const auto& k) { return k.second.turn == whose; });
    if (behind == messages_.end() || behind->second.role != records::message_role::tool)
      return world_.violate("one result per call", "no results stand behind the answer " + std::to_string(seq));
  }
  for (const auto& [id, turn] : turns_) {
    const auto* row = world_.truth.record_of(id);
    if (turn.seq == 0) continue;
    if (!row) return world_.violate("not lost", "the turn of message " + std::to_string(turn.seq) + " is not there");
    if (row->kind == kind::turn && turn.ends != 1)
      return world_.violate("answered once",
                            "the end of " + world_.label(id) + " was told " + std::to_string(turn.ends) + " times");
  }
}

} // namespace quell::simulation
