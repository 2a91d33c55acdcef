// Effects of time: timeouts, the bounds of operations that are not processes of ours, expiries, and the progress of
// open cancels once a second.
#include <algorithm>
#include <utility>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

namespace {
constexpr std::chrono::seconds progress_every{1};
constexpr std::chrono::hours look_again{1};
} // namespace

void live_ledger::set_deadline(index x, boot_time at) {
  details(x).deadline = at;
  timers_.push({at, x, operations_[x].seq, timer::purpose::deadline});
}

std::optional<boot_time> live_ledger::tick(moment now) {
  // Its owner was told later than it was stopped.
  const auto has_more_grace = [&](index x) {
    if (!operations_[x].external) return false;
    const boot_time kill_at = operations_[x].external->kill_at;
    return now.boot < kill_at + unproven_after;
  };
  // In units of an outdated timer. Those that are left are due at once: the deadline returned is not after `now`.
  std::size_t budget = most_timers_at_once * outdated_timers_for_one;
  while (budget >= outdated_timers_for_one && !timers_.empty() && timers_.top().at <= now.boot) {
    const timer due = timers_.top();
    timers_.pop();
    --budget;
    if (!is_same(due.operation, due.seq) || operations_[due.operation].is_over()) continue;
    budget -= outdated_timers_for_one - 1;
    switch (due.what) {
    case timer::purpose::deadline:
      stop_operations({due.operation}, stop_cause::timeout, now);
      break;
    case timer::purpose::unconfirmed:
      if (has_more_grace(due.operation)) break; // there is another timer
      end_own_work(due.operation, stopped_end(due.operation, receipt::unconfirmed, proof::none), now);
      break;
    case timer::purpose::restored:
      end_doubt(due.operation, now);
      break;
    case timer::purpose::lease:
      look_at_lease(due.operation, now);
      break;
    }
  }
  expire(now, budget / outdated_timers_for_one);
  recent_.forget_old(now.boot);

  std::optional<boot_time> next;
  const auto soonest = [&](boot_time at) {
    if (!next || at < *next) next = at;
  };
  for (const std::uint64_t seq : std::vector(runs_.progressing().begin(), runs_.progressing().end())) {
    cancel_run& run = *runs_.find(seq);
    if (!run.is_fenced) continue;
    const boot_time due = run.last_progress + progress_every;
    if (due > now.boot) {
      soonest(due);
      continue;
    }
    runs_.clear_progress(run, now.boot);
    runs_.touch(run);
    write_event(event_type::cancel_progress, run, now);
  }
  if (!timers_.empty()) soonest(timers_.top().at);
  if (!expiries_.empty()) soonest(expiries_.top().at);
  return next;
}

void live_ledger::expire(moment now, std::size_t most) {
  for (; most > 0 && !expiries_.empty() && expiries_.top().at <= now.boot; --most) {
    const expiry due = expiries_.top();
    expiries_.pop();
    if (due.tombstone) {
      const auto left = tombstones_.time_left(*due.tombstone, now.wall);
      if (left && *left <= milliseconds{0}) {
        tombstones_.drop(*due.tombstone);
        effects_.journal.emplace_back(records::drop_tombstone{*due.tombstone});
      } else if (left) { // renewed, or the wall clock was set back
        expiries_.push({now.boot + std::min<std::chrono::nanoseconds>(*left, look_again), due.tombstone, none, 0});
      }
      continue;
    }
    scope_node& node = scopes_[due.scope];
    if (node.generation != due.generation || node.cutoff == 0) continue;
    if (node.cutoff_until > now.boot) { // a later cancel of the same scope
      expiries_.push({node.cutoff_until, {}, due.scope, due.generation});
      continue;
    }
    if (node.live > 0 || node.holders > 0) {
      expiries_.push({now.boot + look_again, {}, due.scope, due.generation});
      continue;
    }
    effects_.journal.emplace_back(records::drop_cutoff{node.path});
    node.cutoff = 0;
    node.cutoff_cancel = {};
    if (node.cutoff_token != none) cutoff_tokens_.release(std::exchange(node.cutoff_token, none));
    scopes_.release_unused(due.scope);
  }
}

} // namespace quell::controller::live
