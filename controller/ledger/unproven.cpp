// The unproven part of a report: live operations below a cancel, the reason for each, and what happens next and when.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

namespace {
constexpr std::size_t most_shown = 100;
constexpr std::size_t most_looked_at = 5'000; ///< a view must stay cheap with 100,000 operations left
} // namespace

cancel_view live_ledger::view_of(const cancel_run& run, moment now) const {
  cancel_view v;
  v.record = run.record;
  v.unproven_total = run.remaining;
  if (run.remaining == 0) return v;
  const std::vector<index> left = oldest_left(run, most_shown);
  v.unproven.reserve(left.size());
  for (const index x : left) v.unproven.push_back(unproven_of(run, x, now));
  return v;
}

std::vector<index> live_ledger::oldest_left(const cancel_run& run, std::size_t limit) const {
  std::vector<index> found;
  std::size_t looked = 0;
  if (run.operation != none) {
    found.push_back(run.operation);
    for (std::size_t i = 0; i < found.size() && looked < most_looked_at; ++i)
      for (index c = operations_[found[i]].first_child; c != none && ++looked < most_looked_at;
           c = operations_[c].next_sibling)
        if (!operations_[c].detached) found.push_back(c);
  } else if (run.scope != none) {
    // Each list is in the order of seq (nearly, for stopped ones), so only its first `limit` entries can be among the
    // oldest.
    std::vector<index> inner{run.scope};
    while (!inner.empty() && looked < most_looked_at) {
      const scope_node& node = scopes_[inner.back()];
      inner.pop_back();
      for (const index head : {node.stopped.head, node.plain.head}) {
        std::size_t taken = 0;
        for (index x = head; x != none && taken < limit && ++looked < most_looked_at; x = operations_[x].scope_next)
          if (runs_.covers(run, x)) {
            found.push_back(x);
            ++taken;
          }
      }
      for (index c = node.first_child; c != none; c = scopes_[c].next_sibling) inner.push_back(c);
    }
  }
  std::sort(found.begin(), found.end(), [&](index a, index b) { return operations_[a].seq < operations_[b].seq; });
  if (found.size() > limit) found.resize(limit);
  return found;
}

unproven_operation live_ledger::unproven_of(const cancel_run& run, index x, moment now) const {
  const operation_node& n = operations_[x];
  unproven_operation u;
  u.operation = n.id;
  u.scope = scopes_[n.scope].path;
  u.since = run.record.created_at;
  if (n.worker != none) u.worker = workers_[n.worker];
  const auto* stop = n.details && n.details->stop ? &*n.details->stop : nullptr;
  if (stop != nullptr && stop->signalled_at) u.since = *stop->signalled_at;
  if (n.phase == phase::in_doubt) {
    u.why = unproven_why::worker_unreachable;
    u.next = next_action::lease_expiry;
    u.next_at = now.wall + std::chrono::ceil<milliseconds>(doubted_until(x) - now.boot);
    return u;
  }
  if (!n.is_held()) {
    if (n.kind == quell::kind::task || n.is_over()) {
      u.why = n.is_over() ? unproven_why::in_grace : unproven_why::signal_in_flight;
      u.next = next_action::signal;
      return u;
    }
    u.why = unproven_why::awaiting_owner;
    u.next = next_action::settle_unconfirmed;
    const wall_time kill_at = run.record.created_at + run.record.grace.value_or(n.grace);
    u.next_at = (stop != nullptr ? stop->kill_at.value_or(kill_at) : kill_at) + unproven_after;
    return u;
  }
  if (ask_) {
    const reachability r = ask_(workers_[n.worker]);
    u.dead_by = shown_dead_by(x, r, now);
    if (!r.reachable) {
      u.why = unproven_why::worker_unreachable;
      u.since = r.since.value_or(u.since);
      u.next = next_action::lease_expiry;
      u.next_at = u.dead_by;
      return u;
    }
  }
  if (n.details && n.details->unproven) {
    const wire::task_unproven& reported = *n.details->unproven;
    u.why = reported.why;
    u.since = reported.since;
    u.processes_total = reported.processes_total;
    u.processes = reported.processes;
    if (u.processes.size() > 20) u.processes.resize(20);
    u.next = reported.next;
    if (reported.next_at != wall_time{}) u.next_at = reported.next_at;
    return u;
  }
  if (stop == nullptr || !stop->kill_at) {
    u.why = unproven_why::signal_in_flight;
    u.next = next_action::signal;
    return u;
  }
  if (n.details && n.details->pid != 0) { // the worker has not reported a count yet: at least its leader lives
    u.processes_total = 1;
    u.processes.push_back({n.details->pid, "?", ""});
  }
  const bool in_grace = now.wall < *stop->kill_at;
  u.why = in_grace ? unproven_why::in_grace : unproven_why::kill_in_flight;
  u.next = in_grace ? next_action::kill : next_action::kill_again;
  if (in_grace) u.next_at = stop->kill_at;
  return u;
}

} // namespace quell::controller::live
