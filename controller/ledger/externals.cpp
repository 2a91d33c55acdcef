// External operations: work in another runtime. Its owner starts and ends it and sends heartbeats. If the owner, once
// told to stop, stays silent, the operation ends on our side as unconfirmed.
//
// The order in which the owner's reports reach us decides which event wins: a completion that comes while the operation
// is being stopped was there before the stop could be applied (`already_finished`); a failure counts as its way to
// stop.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

namespace {

/// A connection that our restart broke does not count as its owner's silence.
constexpr milliseconds time_to_return{30'000};
/// A commit takes a few milliseconds; a disk that needs longer must not take from the grace of a stop.
constexpr milliseconds slow_write{100};

tl::unexpected<refusal> refuse(error_code code, std::string detail, const operation_id& id) {
  return tl::unexpected<refusal>(refusal{coded_fault{code, std::move(detail), {}}, {}, id});
}

} // namespace

void live_ledger::begin_lease(index x, boot_time until) {
  if (!leases_.has_lease(x)) return;
  leases_.begin(x, until);
  timers_.push({until, x, operations_[x].seq, timer::purpose::lease});
}

/// A renewed lease keeps its first timer, which then finds that it must be set again.
void live_ledger::look_at_lease(index x, moment now) {
  operation_node& n = operations_[x];
  const boot_time end = leases_.end_of(x);
  if (end > now.boot) {
    timers_.push({end, x, n.seq, timer::purpose::lease});
    return;
  }
  const std::uint64_t seq = n.seq;
  if (settle_stop(x, now)) {
    if (is_same(x, seq) && !n.is_over()) end_own_work(x, stopped_end(x, receipt::unconfirmed, proof::none), now);
    return;
  }
  end_own_work(
      x,
      {status::failed,
       {},
       proof::none,
       {},
       records::own_error(failure_code::heartbeat_lost, "its owner was silent for its lease of " +
                                                            std::to_string(n.external->lease.count()) + " ms")},
      now);
}

/// Materialises a stop that no sweep has brought to it yet. True if it is stopped; it can be gone then.
bool live_ledger::settle_stop(index x, moment now) {
  const auto stop = stop_of(x);
  if (!stop) return false;
  if (!operations_[x].is_stopped()) apply_stop(x, *stop, now);
  return true;
}

outcome<index> live_ledger::find_external(const operation_id& id, const caller& by) const {
  const index x = find(id);
  if (x == none || !sees(by, x))
    return refuse(error_code::operation_not_found, "there is no live operation " + id.text(), id);
  if (!operations_[x].external)
    return refuse(error_code::not_external,
                  "operation " + id.text() + " is a " + std::string(name_of(operations_[x].kind)) +
                      ": quell runs it and knows itself how it goes",
                  id);
  return x;
}

outcome<operation_id> live_ledger::start_external(const operation_id& id, const caller& by, moment now) {
  const auto found = find_external(id, by);
  if (!found) return tl::unexpected(found.error());
  const index x = *found;
  operation_node& n = operations_[x];
  if (const auto stop = stop_of(x)) {
    refusal r = stale(stop, "operation " + id.text() + " was told to stop");
    r.operation = id;
    settle_stop(x, now);
    return tl::unexpected(std::move(r));
  }
  if (n.is_over()) return refuse(error_code::already_terminal, "operation " + id.text() + " has ended", id);
  if (n.has_begun()) return id;
  if (n.phase == phase::behind_older)
    return refuse(error_code::not_started,
                  "operation " + id.text() + " waits for the end of what it supersedes; start it again in a moment",
                  id);
  leases_.renew(x, now.boot);
  begin(x, now.wall, now);
  return id;
}

outcome<operation_id> live_ledger::end_external(const owner_report& report, const caller& by, moment now) {
  const operation_id id = report.operation;
  const auto found = find_external(id, by);
  if (!found) return tl::unexpected(found.error());
  const index x = *found;
  const auto over = [&] { return refuse(error_code::already_terminal, "operation " + id.text() + " has ended", id); };
  const bool is_stopped = !operations_[x].is_over() && settle_stop(x, now);
  if (find(id) == none) return refuse(error_code::operation_not_found, "there is no live operation " + id.text(), id);
  operation_node& n = operations_[x];
  if (n.is_over()) {
    if (n.self_status == wanted_by(report.what)) return id;
    return over();
  }
  if (is_stopped) {
    self_status e = stopped_end(x, receipt::cooperative, proof::reported);
    if (report.what == owner_word::complete) {
      e = {status::completed, receipt::already_finished, proof::reported, {}, {}};
      details(x).result = report.result;
    } else if (report.what == owner_word::fail && !e.error) {
      e.error = report.error;
    }
    end_own_work(x, std::move(e), now);
    return id;
  }
  switch (report.what) {
  case owner_word::stopped:
    return refuse(error_code::not_cancelling,
                  "operation " + id.text() + " was not told to stop: complete it or fail it", id);
  case owner_word::complete:
    if (!n.has_begun())
      return refuse(error_code::not_started, "operation " + id.text() + " is pending: start it first", id);
    if (!report.result.empty()) details(x).result = report.result;
    end_own_work(x, {status::completed, {}, proof::reported, {}, {}}, now);
    return id;
  case owner_word::fail:
    end_own_work(x, {status::failed, {}, proof::reported, {}, report.error}, now);
    return id;
  }
  return id;
}

void live_ledger::note_late_report(const owner_report& report, moment now) {
  note_outcome(report.operation, late_report_text(report, now.wall));
}

/// As many signals as one answer has room for, at least one.
void live_ledger::add_signals(renewal_answer& answer, const std::map<std::uint64_t, index>& stopped) const {
  std::uint64_t last = 0;
  std::size_t bytes = 0;
  for (const auto& [seq, x] : stopped) {
    if (!is_same(x, seq) || operations_[x].is_over()) continue; // another's end has ended it
    auto signal = signal_to_owner(x);
    for (const auto& [name, value] : signal.labels) bytes += name.size() + value.size();
    if (!answer.cancels.empty() && (answer.cancels.size() >= most_signals || bytes > most_signal_bytes)) {
      answer.next = last;
      return;
    }
    answer.cancels.push_back(std::move(signal));
    last = seq;
  }
}

renewal_answer live_ledger::heartbeat(const renewal_order& order, moment now) {
  renewal_answer answer;
  std::map<std::uint64_t, index> stopped; // by seq; no more than one answer can need
  const auto note_stopped = [&](std::uint64_t seq, index x) {
    if (seq <= order.after) return;
    stopped.emplace(seq, x);
    if (stopped.size() > most_signals + 1) stopped.erase(std::prev(stopped.end()));
  };
  const auto renew = [&](index x) {
    if (operations_[x].is_over()) { // it only waits for the operations that it has started
      ++answer.renewed;
      return true;
    }
    const std::uint64_t seq = operations_[x].seq;
    const bool is_stopped = settle_stop(x, now);
    if (!is_same(x, seq)) return false;
    ++answer.renewed;
    if (operations_[x].is_over()) return true; // it had not begun
    if (leases_.renew(x, now.boot)) {
      const wall_time expires = now.wall + operations_[x].external->lease;
      if (!answer.lease_expires_at || expires < *answer.lease_expires_at) answer.lease_expires_at = expires;
    }
    if (is_stopped) note_stopped(seq, x);
    return true;
  };
  for (const operation_id& id : order.operations) {
    const auto found = find_external(id, order.by);
    if (!found || !renew(*found)) answer.unknown.push_back(id);
  }
  if (!order.session) {
    add_signals(answer, stopped);
    return answer;
  }
  if (const auto whole = whole_session(*order.session, order.by)) {
    leases_.renew_session(*whole, now.boot);
    answer.renewed += leases_.members(*whole);
    if (const auto lease = leases_.shortest_lease(*whole)) {
      const wall_time expires = now.wall + *lease;
      if (!answer.lease_expires_at || expires < *answer.lease_expires_at) answer.lease_expires_at = expires;
    }
    const auto& notified = leases_.notified_in(*whole);
    std::size_t most = most_signals + 1;
    for (auto at = notified.upper_bound(order.after); at != notified.end() && most > 0; ++at, --most)
      note_stopped(at->first, at->second);
  } else {
    for (const auto& [x, seq] : in_session(*order.session, order.by))
      if (is_same(x, seq)) renew(x); // the end of one can end another
  }
  add_signals(answer, stopped);
  return answer;
}

outcome<std::optional<external_signal>> live_ledger::signal_of(const operation_id& id, const caller& by, moment now) {
  const auto found = find_external(id, by);
  if (!found) return tl::unexpected(found.error());
  if (operations_[*found].is_over() || !settle_stop(*found, now)) return std::optional<external_signal>{};
  if (find(id) == none) return refuse(error_code::operation_not_found, "there is no live operation " + id.text(), id);
  if (operations_[*found].is_over()) return std::optional<external_signal>{}; // it had not begun
  return std::optional(signal_to_owner(*found));
}

std::vector<external_signal> live_ledger::signals_of(const std::string& session, const caller& by, moment now) {
  std::vector<external_signal> found;
  if (const auto whole = whole_session(session, by)) {
    for (const auto& [seq, x] : leases_.notified_in(*whole)) found.push_back(signal_to_owner(x));
    return found;
  }
  for (const auto& [x, seq] : in_session(session, by))
    if (is_same(x, seq) && !operations_[x].is_over() && settle_stop(x, now) && is_same(x, seq) &&
        !operations_[x].is_over())
      found.push_back(signal_to_owner(x));
  return found;
}

/// The session, if the caller sees all its operations and no stop is on its way to any: then nothing has to be looked
/// at one by one.
std::optional<index> live_ledger::whole_session(const std::string& session, const caller& by) const {
  const index s = leases_.find_session(session);
  if (s == none || !sweeps_.empty()) return std::nullopt;
  const auto& scope = leases_.scope_above(s);
  if (by.prefix && !(scope && scope->is_at_or_below(*by.prefix))) return std::nullopt;
  if (!by.task) return s;
  const index own = find(*by.task), parent = leases_.parent_of_all(s);
  const bool are_below = own != none && parent != none && (parent == own || operations_.is_below(parent, own));
  return are_below ? std::optional(s) : std::nullopt;
}

/// The operations of a session that the caller sees, oldest first, each with the seq that distinguishes it from a later
/// user of its slot.
external_leases::guarded live_ledger::in_session(const std::string& session, const caller& by) const {
  auto found = leases_.in_session(session);
  std::erase_if(found, [&](const auto& one) { return !sees(by, one.first); });
  return found;
}

/// The shortest grace of the cancels that cover it, else its own.
milliseconds live_ledger::grace_below(index x) const {
  std::vector<cancel_run*> runs;
  runs_.covering(x, runs);
  std::optional<milliseconds> nearest;
  for (const cancel_run* run : runs) {
    milliseconds grace = run->record.grace.value_or(operations_[x].grace);
    if (run->record.tighter) grace = std::min(grace, *run->record.tighter);
    nearest = std::min(nearest.value_or(grace), grace);
  }
  return nearest.value_or(operations_[x].grace);
}

void live_ledger::tell_owner(index x, milliseconds grace, moment now) {
  operation_node& n = operations_[x];
  records::stop_state& stop = *details(x).stop;
  if (!stop.signalled_at) stop.signalled_at = now.wall;
  stop.kill_at = now.wall + grace;
  timers_.push({now.boot + grace + unproven_after, x, n.seq, timer::purpose::unconfirmed});
  leases_.notify(x, grace, now.boot);
  effects_.owner_signals.push_back(signal_to_owner(x));
}

/// A later cancel can only shorten the grace; then its owner is notified again.
void live_ledger::hurry_owners(const cancel_run& run, std::optional<milliseconds> grace, moment now) {
  const auto hurry = [&](index x) {
    const milliseconds wanted = grace.value_or(operations_[x].grace);
    if (now.boot + wanted >= operations_[x].external->kill_at || !runs_.covers(run, x)) return;
    tell_owner(x, wanted, now);
    write_row(x);
  };
  each_notified_below(run, hurry);
}

/// Walks the smaller of the two sets, so that the owners whom others have stopped do not slow this cancel.
void live_ledger::each_notified_below(const cancel_run& run, const std::function<void(index)>& what) const {
  if (run.remaining < leases_.notified().size()) {
    for (const index x : runs_.covered_list(run))
      if (leases_.notified().contains(operations_[x].seq)) what(x);
  } else {
    for (const auto& [seq, x] : leases_.notified()) what(x);
  }
}

/// The cancel stopped these while the disk wrote it, and its owners are told now: the grace of a stop counts from
/// there.
void live_ledger::give_late_grace(const cancel_run& run, moment now) {
  if (now.boot - run.received <= slow_write) return;
  each_notified_below(run, [&](index x) {
    operation_node& n = operations_[x];
    records::stop_state& stop = *details(x).stop;
    const boot_time kill_at = n.external->kill_at;
    const milliseconds grace = n.external->grace;
    if (stop.seq != run.record.seq || now.boot - (kill_at - grace) <= slow_write) return;
    stop.signalled_at = now.wall;
    stop.kill_at = now.wall + grace;
    leases_.give_grace(x, grace, now.boot);
    timers_.push({now.boot + grace + unproven_after, x, n.seq, timer::purpose::unconfirmed});
    write_row(x);
  });
}

void live_ledger::recover_external(index x, moment now) {
  operation_node& n = operations_[x];
  if (n.is_over()) {
    leases_.work_is_over(x);
    return;
  }
  begin_lease(x, now.boot + std::max(n.external->lease, time_to_return));
  if (n.is_stopped()) leases_.note_notified(x);
}

/// Gives its owner the whole grace again, since the owner can have been unable to report. Runs after the open cancels
/// are known, because a later one can have made the grace shorter than the time from the first signal to the kill.
void live_ledger::recover_grace(index x, moment now) {
  operation_node& n = operations_[x];
  const records::stop_state& stop = *n.details->stop;
  milliseconds grace = n.grace;
  if (stop.kill_at && stop.signalled_at) grace = std::max(*stop.kill_at - *stop.signalled_at, milliseconds{0});
  if (stop.cause == stop_cause::cancel) grace = std::min(grace, grace_below(x));
  leases_.give_grace(x, grace, now.boot);
  timers_.push({now.boot + grace + unproven_after, x, n.seq, timer::purpose::unconfirmed});
}

external_signal live_ledger::signal_to_owner(index x) const {
  const operation_node& n = operations_[x];
  const records::stop_state& stop = *n.details->stop;
  external_signal s;
  s.operation = n.id;
  s.name = n.external->name;
  s.labels = n.external->labels;
  s.scope = scopes_[n.scope].path;
  s.session = leases_.session_of(x);
  s.cause = stop.cause;
  s.cancel = stop.cancel;
  s.reason = stop.reason;
  s.by = stop.by;
  if (const cancel_run* run = runs_.find(stop.seq)) {
    s.reason = run->record.reason;
    s.by = run->record.by;
    s.is_fenced = run->is_fenced;
  }
  s.since = stop.signalled_at.value_or(wall_time{});
  s.grace = n.external->grace;
  s.kill_at = stop.kill_at.value_or(s.since);
  return s;
}

} // namespace quell::controller::live
