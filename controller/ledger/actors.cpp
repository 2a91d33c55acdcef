// Operations that are actors of this process: their actor reports that they begin, wait for a human or end, unless a
// stop came first.
#include <algorithm>
#include <utility>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::live {

outcome<operation_id> live_ledger::start_local(const operation_id& id, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].is_over())
    return refused_with(error_code::already_terminal, "operation " + id.text() + " has ended");
  if (const auto stop = stop_of(x))
    return tl::unexpected<refusal>(stale(stop, "operation " + id.text() + " is being stopped"));
  begin(x, now.wall, now);
  if (!operations_[x].has_begun())
    return refused_with(error_code::stale_start, "operation " + id.text() + " may not begin and is being stopped");
  return id;
}

bool live_ledger::pause(const operation_id& id, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].is_over() || operations_[x].now != status::running || stop_of(x)) return false;
  if (operations_[x].was_approved) return false; // an agent that continues after a restart asks again, too late
  if (!set_status(x, status::paused)) return false;
  operations_.wait_for(x, approval_reason());
  write_row(x);
  write_event(event_type::operation_paused, x, now);
  return true;
}

outcome<operation_id> live_ledger::decide(const operation_id& id, const decision& d,
                                          const records::call_outcome& denied_result, moment now) {
  const index x = find(id);
  if (x == none) return refused_with(error_code::operation_not_found, "there is no live operation " + id.text());
  operation_node& n = operations_[x];
  if (n.now != status::paused || stop_of(x))
    return refused_with(error_code::not_paused, "operation " + id.text() + " does not wait for a human (any more)");
  if (asks(x))
    return refused_with(error_code::not_paused, "operation " + id.text() + " asks question " +
                                                    n.details->question->id.text() +
                                                    ": say that it is this one that is answered");
  go_on(x);
  write_event_data(event_type::approval_resolved, d.event_data, x, now);
  write_row(x);
  if (d.is_approved()) {
    n.was_approved = true;
    if (!d.changed.empty()) effects_.journal.emplace_back(records::put_call_change{id, d.changed});
    write_event(event_type::operation_resumed, x, now);
    return id;
  }
  close_call(x, denied_result);
  const std::string who = d.by.name.empty() ? d.by.id : d.by.name;
  end_own_work(
      x,
      {status::failed,
       {},
       proof::internal,
       {},
       records::own_error(failure_code::error, "denied by " + who + (d.reason.empty() ? "" : ": " + d.reason))},
      now);
  return id;
}

bool live_ledger::finish_local(const operation_id& id, const own_outcome& end, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].is_over()) return false;
  if (!end.result.empty()) details(x).result = end.result;
  if (const auto stop = stop_of(x)) {
    if (!operations_[x].is_stopped()) set_stop(x, *stop, announce::no, now);
    const bool began = operations_[x].has_begun();
    // A call of an earlier life that ends without its answer tells nothing of the work elsewhere.
    if (began && operations_[x].details->is_unasked)
      end_own_work(x, stopped_end(x, receipt::cooperative, proof::internal), now);
    else if (began && !end.how && works_elsewhere(x))
      end_own_work(x, stopped_end(x, receipt::unconfirmed, proof::none), now);
    else
      end_own_work(x,
                   stopped_end(x, began ? end.how.value_or(receipt::cooperative) : receipt::never_started,
                               began ? end.evidence : proof::never_ran),
                   now);
    return false;
  }
  if (end.call) close_call(x, *end.call);
  asks_no_more(x, now);
  if (operations_[x].now == status::pending && end.as == status::completed) begin(x, now.wall, now);
  end_own_work(x, {end.as, {}, end.evidence, {}, end.error, end.completed_data, end.abort_reason}, now);
  return true;
}

bool live_ledger::stop_local(const operation_id& id, stop_cause cause, std::optional<records::call_outcome> call,
                             moment now) {
  const index x = find(id);
  if (x == none || operations_[x].is_over() || stop_of(x)) return false;
  if (call) close_call(x, std::move(*call));
  stop_operations({x}, cause, now);
  return true;
}

std::uint64_t live_ledger::add_message(records::message_record message, moment now) {
  message.seq = take_seq();
  message.at = now.wall;
  effects_.journal.emplace_back(records::put_message{std::move(message)});
  return last_seq();
}

void live_ledger::acknowledged(const message_id& message) {
  effects_.journal.emplace_back(records::acknowledge_message{message});
}

void live_ledger::add_closed_call(records::call_record call) {
  records::put_call_result result{call.operation, call.outcome.value_or(call_not_started())};
  call.outcome.reset();
  if (!call.changed.empty())
    effects_.journal.emplace_back(records::put_call_change{call.operation, std::move(call.changed)});
  effects_.journal.emplace_back(records::put_call{std::move(call)});
  effects_.journal.emplace_back(std::move(result));
}

void live_ledger::note_outcome(const operation_id& id, std::string json) {
  if (records::operation_hot* hot = silent_ends_.find(id)) {
    if (!hot->late.empty()) return;
    hot->late = std::move(json);
    effects_.journal.emplace_back(records::update_operation{id, *hot});
    return;
  }
  const auto* ended = recent_.find(id);
  if (find(id) != none || (ended && !ended->is_silent)) return; // it lives, or its end was proven
  effects_.journal.emplace_back(records::put_late{id, std::move(json)});
}

std::vector<open_turn> live_ledger::open_turns() const {
  std::vector<index> found;
  operations_.each_in_scope(scope_tree::root, [&](index x) {
    if (operations_[x].kind == quell::kind::turn && !operations_[x].is_over()) found.push_back(x);
  });
  std::sort(found.begin(), found.end(), [&](index a, index b) { return operations_[a].seq < operations_[b].seq; });
  std::vector<open_turn> turns;
  for (const index x : found)
    turns.push_back({operations_[x].id, scopes_[operations_[x].scope].path, operations_[x].has_begun()});
  return turns;
}

/// Keeps the first result of a call, so closing a call is idempotent.
void live_ledger::close_call(index x, records::call_outcome outcome) {
  effects_.journal.emplace_back(records::put_call_result{operations_[x].id, std::move(outcome)});
}

void live_ledger::signal(index x, milliseconds grace) {
  const operation_node& n = operations_[x];
  actor_signal s{n.id, n.details->stop->cause, n.details->stop->cancel, n.details->stop->reason, grace};
  if (const cancel_run* run = runs_.find(n.details->stop->seq)) {
    s.reason = run->record.reason;
    s.is_fenced = run->is_fenced;
  }
  effects_.signals.push_back(std::move(s));
}

records::event_record live_ledger::event_about(event_type type, std::string data, index x) const {
  records::event_record e;
  e.type = type;
  e.scope = scopes_[operations_[x].scope].path;
  e.operation = operations_[x].id;
  index root = x;
  while (operation_parent(root) != none) root = operation_parent(root);
  e.root = operations_[root].id;
  e.data = std::move(data);
  return e;
}

void live_ledger::write_event_data(event_type type, std::string data, index x, moment now) {
  add_event(event_about(type, std::move(data), x), now);
}

/// Withdraws the question of a call that ends while a human is still asked about it.
void live_ledger::asks_no_more(index x, moment now) {
  operation_node& n = operations_[x];
  if (n.now != status::paused) return;
  tell_dropped(x, now);
  go_on(x);
  write_row(x);
}

/// The detached tasks below a turn, which its stop passes by, as the end of a JSON object.
std::string live_ledger::still_running(index x) const {
  constexpr std::size_t most_reported = 16, most_visited = 10'000;
  std::string running_ids;
  std::size_t count = 0;
  std::vector<index> all{x};
  for (std::size_t i = 0; i < all.size() && all.size() < most_visited && count < most_reported; ++i)
    for (index c = operations_[all[i]].first_child; c != none; c = operations_[c].next_sibling) {
      const operation_node& n = operations_[c];
      all.push_back(c);
      if (!n.detached || n.kind != quell::kind::task || n.is_over() || stop_of(c) || count == most_reported) continue;
      running_ids += (count++ == 0 ? "\"" : ",\"") + n.id.text() + '"';
    }
  return count == 0 ? "}" : R"(,"still_running":[)" + running_ids + "]}";
}

void live_ledger::tell_turn_over(index x, const self_status& e, moment now) {
  if (const auto stop = stop_of(x); stop && e.how)
    write_event_data(event_type::turn_abort,
                     R"({"reason":")" + std::string(abort_reason_of(stop->cause)) + '"' + still_running(x), x, now);
  else if (e.completed_data && e.as == status::completed)
    write_event_data(event_type::turn_complete, *e.completed_data, x, now);
  else
    write_event_data(event_type::turn_abort, R"({"reason":")" + e.abort_reason + '"' + still_running(x), x, now);
}

/// The result of a call that is told to stop. Below another operation's stop the cause reads parent_ended, but the
/// model receives the cause of that operation's stop.
records::call_outcome live_ledger::stopped_call(index x, stop_cause cause) const {
  const bool began = operations_[x].has_begun() && (operations_[x].now != status::paused || asks(x));
  for (index at = operation_parent(x); cause == stop_cause::parent_ended && at != none; at = operation_parent(at)) {
    const operation_node& above = operations_[at];
    if (above.details && above.details->stop)
      cause = above.details->stop->cause;
    else if (above.is_over())
      break;
  }
  if (cause == stop_cause::timeout) return late_call(began);
  if (cause == stop_cause::budget) return unpaid_call(began);
  if (cause == stop_cause::parent_ended || cause == stop_cause::worker_lost) return left_call(began);
  return began ? cancelled_call() : call_not_started();
}

} // namespace quell::controller::live
