// How operations begin, are told to stop, and end.
//
// The end of an operation's own work decides its status. It becomes terminal when nothing below it lives any more, so
// that its chain stays complete as long as anything depends on it. After a normal end only the children that asked for
// it are stopped; after any other end all that are not detached.
#include <cassert>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

namespace {
constexpr std::size_t most_at_once = 1'000;

/// Nobody has proven this end, so a word about it that comes later is worth keeping.
bool is_silent(const std::optional<proof>& evidence) {
  return evidence == proof::lease_expired || evidence == proof::none;
}
} // namespace

void live_ledger::set_stop(index x, const found_stop& stop, announce say, moment now) {
  operation_node& n = operations_[x];
  if (!n.is_stopped()) {
    operations_.mark_stopped(x);
    records::stop_state state;
    state.cause = stop.cause;
    state.seq = stop.seq;
    state.cancel = stop.cancel;
    if (stop.words) {
      state.reason = stop.words->reason;
      if (!stop.words->by.id.empty()) state.by = stop.words->by;
    }
    if (n.kind == quell::kind::tool_call && !n.is_over()) close_call(x, stopped_call(x, stop.cause));
    if (n.now == status::paused && !asks(x)) details(x).is_unasked = true;
    details(x).stop = state;
  }
  if (n.now == status::paused && !n.is_over()) {
    tell_dropped(x, now);
  }
  if (say == announce::no || n.now == status::cancelling) return;
  if (!set_status(x, status::cancelling)) return;
  write_row(x);
  write_event(event_type::operation_cancelling, x, now);
}

void live_ledger::apply_stop(index x, const found_stop& stop, moment now) {
  operation_node& n = operations_[x];
  if (n.is_stopped()) return;
  // Since a backup that was restored, its owner can have begun what the backup knows as waiting.
  const bool may_have_begun = n.external && n.seq < restored_below_;
  if (operations_.never_sent(x) && !may_have_begun) {
    set_stop(x, stop, announce::no, now);
    end_own_work(x, {status::cancelled, receipt::never_started, proof::never_ran, {}, {}}, now);
    return;
  }
  if (n.external && !n.is_over()) {
    set_stop(x, stop, announce::no, now);
    tell_owner(x, grace_below(x), now);
    announce_cancelling(x, now);
    return;
  }
  set_stop(x, stop, announce::yes, now);
  if (n.kind == quell::kind::task || n.is_over()) return;
  // An operation that is not a process of ours: its owner has the grace and the bound, then it ends on our side.
  milliseconds grace = n.grace;
  if (const cancel_run* run = runs_.find(stop.seq); run != nullptr && run->record.grace) grace = *run->record.grace;
  timers_.push({now.boot + grace + unproven_after, x, n.seq, timer::purpose::unconfirmed});
  signal(x, grace);
}

void live_ledger::begin(index x, wall_time at, moment now) {
  operation_node& n = operations_[x];
  if (n.has_begun() || n.is_over() || !enter_phase(x, phase::begun)) return;
  n.since = at;
  n.spec.reset();
  operations_.wait_no_more(x);
  if (n.details && n.details->timeout.count() > 0) {
    // By the controller's wall clock, which also reads it after a restart: the worker's clock can differ.
    n.details->deadline_at = now.wall + n.details->timeout;
    set_deadline(x, now.boot + n.details->timeout);
  }
  const auto stop = stop_of(x);
  if (n.now == status::pending) set_status(x, status::running);
  if (!stop || n.is_stopped()) write_row(x);
  write_event(event_type::operation_started, x, now);
  if (stop) apply_stop(x, *stop, now); // its start was under way when it was cancelled; the cancel follows it
}

self_status live_ledger::stopped_end(index x, receipt how, proof evidence) const {
  const auto& stop = operations_[x].details->stop;
  self_status e{status::cancelled, how, evidence, {}, {}};
  if (stop->cause == stop_cause::timeout) {
    e.as = status::failed;
    e.error = records::own_error(failure_code::timeout, "it ran for longer than its timeout of " +
                                                            std::to_string(operations_[x].details->timeout.count()) +
                                                            " ms and was stopped");
  } else if (stop->cause == stop_cause::budget) {
    e.as = status::failed;
    e.error = records::own_error(failure_code::budget, stop->reason);
  } else if (stop->cause == stop_cause::worker_lost) {
    e.as = status::failed;
    e.error = records::own_error(
        failure_code::worker_lost,
        "its worker " + (operations_[x].worker == none ? "" : workers_[operations_[x].worker]) + " was lost");
  }
  return e;
}

void live_ledger::end_own_work(index x, self_status e, moment now) {
  operation_node& n = operations_[x];
  if (!may_move(n.phase, end_of(n.phase))) return forbid(x, name_of(n.phase), name_of(end_of(n.phase)));
  operation_details& d = details(x);
  if (has_forbidden_move(x)) {
    e.as = status::failed;
    e.error = d.error;
  }
  if (e.how && !n.is_stopped()) {
    const auto stop = stop_of(x);
    assert(stop);
    set_stop(x, *stop, announce::no, now);
  }
  release(x);
  operations_.starts_no_more(x);
  if (n.external) leases_.work_is_over(x);
  n.spec.reset();
  enter_phase(x, end_of(n.phase));
  n.self_status = e.as;
  d.end_how = e.how;
  d.end_evidence = e.evidence;
  if (e.exit) d.exit = std::move(e.exit);
  if (e.error) d.error = std::move(e.error);
  if (n.kind == quell::kind::turn) {
    if (e.how == receipt::never_started) effects_.journal.emplace_back(records::discard_message{n.id});
    tell_turn_over(x, e, now);
  }
  d.unproven.reset();
  if (d.stop && e.how) {
    d.stop->how = e.how;
    d.stop->evidence = e.evidence;
  }
  if (n.live_below == 1) {
    finish(x, now);
    return;
  }
  if (n.is_stopped() && n.now != status::cancelling) {
    announce_cancelling(x, now);
  } else {
    write_row(x);
  }
  stop_children(x, now);
}

void live_ledger::stop_children(index x, moment now) {
  operation_node& n = operations_[x];
  if (stop_of(x)) return; // the children are under the same stop, which is on its way to them
  const bool all = n.self_status != status::completed;
  std::vector<index> stopped;
  bool spares_some = false;
  for (index c = n.first_child; c != none; c = operations_[c].next_sibling) {
    if (operations_[c].detached) continue;
    if (all || operations_[c].on_parent_end == on_parent_end::cancel)
      stopped.push_back(c);
    else
      spares_some = true;
  }
  if (stopped.empty()) return;
  n.details->children_stop_seq = take_seq();
  stop_messages messages;
  if (!spares_some) {
    // One id is enough: the operation itself has ended, and everything below it is stopped.
    for (const auto& [worker, count] : n.details->workers_below) messages[worker].operations.push_back(n.id);
  } else {
    for (const index c : stopped) add_stop_below(messages, c);
  }
  send(std::move(messages), n.details->children_stop_seq, stop_cause::parent_ended, std::nullopt, std::nullopt);
  // Direct children get their rows together with the row that stops them: which stop was first must not depend on how
  // far a sweep came before a crash. Operations further down derive it from them. Only a parent of very many children
  // leaves this to the sweep.
  for (const index c : stopped) queue_below(c);
  if (stopped.size() > most_at_once) return;
  std::vector<std::uint64_t> guards;
  for (const index c : stopped) guards.push_back(operations_[c].seq);
  for (std::size_t i = 0; i < stopped.size(); ++i)
    if (is_same(stopped[i], guards[i])) visit(stopped[i], now);
}

void live_ledger::finish(index x, moment now) {
  while (x != none) {
    const index parent = operation_parent(x);
    const std::uint64_t parent_seq = parent == none ? 0 : operations_[parent].seq;
    finish_one(x, now);
    const bool parent_is_over = parent != none && is_same(parent, parent_seq) && operations_[parent].is_over() &&
                                operations_[parent].live_below == 1;
    x = parent_is_over ? parent : none;
  }
}

void live_ledger::finish_one(index x, moment now) {
  operation_node& n = operations_[x];
  operation_details& d = details(x);
  if (!n.is_stopped())
    if (const auto stop = stop_of(x)) set_stop(x, *stop, announce::no, now);
  // Without a receipt of its own end it ended by itself before the stop could reach it, or was lost unseen.
  const bool is_unseen = !d.end_how && d.end_evidence == proof::none;
  const receipt how = d.end_how.value_or(is_unseen ? receipt::unconfirmed : receipt::already_finished);
  const proof by_itself = n.external ? proof::reported : proof::exit_status;
  const bool is_known = d.end_how || d.end_evidence == proof::lease_expired; // dead by rule: nobody saw its exit
  const proof evidence = is_unseen ? proof::none : is_known ? d.end_evidence.value_or(by_itself) : by_itself;
  const bool is_notified = d.end_how && how != receipt::never_started && n.self_status == status::cancelled;
  if (is_notified) announce_cancelling(x, now);
  if (d.stop) {
    d.stop->how = how;
    d.stop->evidence = evidence;
  }
  if (!set_status(x, n.self_status)) end_against_table(x, now);
  records::operation_hot hot = hot_of(x);
  hot.self_status.reset();
  hot.self_evidence.reset();
  hot.ended_at = now.wall;
  hot.ended_seq = take_seq();
  if (n.kind == quell::kind::turn) close_tree(x, hot);
  if (is_silent(d.end_evidence)) silent_ends_.put(n.id, hot);
  effects_.journal.emplace_back(records::update_operation{n.id, std::move(hot)});
  write_event(event_of_end(n.self_status), x, now);
  effects_.ended.push_back({n.id, n.self_status, d.exit, d.error});
  if (d.left) {
    effects_.ended.back().left_total = d.left->left_total;
    effects_.ended.back().left = std::move(d.left->left);
  }
  remember(x, now);
  tally(x, how, evidence, now);

  const index next = operations_.leave_key(x);
  remove_operation(x);
  if (next == none || operations_[next].phase != phase::behind_older) return;
  enter_phase(next, phase::ready);
  if (stop_of(next)) return; // a sweep is on its way to it
  note_waiting(operations_[next].id, "worker", "waiting to be placed on a worker", now);
  begin_at_once(next, now);
}

void live_ledger::remember(index x, moment now) {
  const operation_node& n = operations_[x];
  ended_trace trace;
  trace.as = n.self_status;
  trace.fingerprint = n.fingerprint;
  trace.at = now.boot;
  trace.is_silent = n.details && is_silent(n.details->end_evidence);
  if (n.details && n.details->stop) {
    trace.cause = n.details->stop->cause;
    trace.has_cancel = n.details->stop->cancel.has_value();
    if (trace.has_cancel) trace.cancel = *n.details->stop->cancel;
  }
  recent_.add(n.id, trace, scopes_[n.scope].path.text());
}

void live_ledger::lose(index x, proof evidence, receipt how, std::string message, moment now) {
  if (const auto stop = stop_of(x)) {
    if (!operations_[x].is_stopped()) set_stop(x, *stop, announce::no, now);
    end_own_work(x, stopped_end(x, how, evidence), now);
    return;
  }
  end_own_work(x, {status::failed, {}, evidence, {}, records::own_error(failure_code::worker_lost, std::move(message))},
               now);
}

} // namespace quell::controller::live
