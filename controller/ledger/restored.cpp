// Handles the gaps of a restored backup. A task that had not begun when the backup was taken can have been sent, run
// and ended since, on any worker, and the worker can have forgotten it. So the task is neither placed again nor assumed
// never to have begun. A worker that names it in its hello has it. If no worker has named it when every lease that can
// have been granted is over, it lives nowhere: whether it ran stays unknown, and the record says so.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"
#include "protocol/lease.hpp"

namespace quell::controller::live {

boot_time live_ledger::doubted_until(index x) const {
  const auto& more = operations_[x].details;
  const milliseconds own = more && more->lease ? *more->lease : milliseconds{0};
  return began_ + lease_wait(std::max({settings_.longest_lease, settings_.worker_lease, own}));
}

/// Since the backup its worker can have got a longer lease than the backup knows, such as that of a planned stop.
boot_time live_ledger::dead_by(index x, boot_time known) const {
  return operations_[x].seq < restored_below_ ? std::max(known, doubted_until(x)) : known;
}

std::optional<wall_time> live_ledger::shown_dead_by(index x, const reachability& r, moment now) const {
  const auto& n = operations_[x];
  const auto known = r.dead_by ? r.dead_by(n.details ? n.details->lease : std::nullopt) : std::nullopt;
  if (!known || n.seq >= restored_below_) return known;
  return std::max(*known, now.wall + std::chrono::ceil<milliseconds>(doubted_until(x) - now.boot));
}

void live_ledger::doubt(index x, moment now) {
  operation_node& n = operations_[x];
  enter_phase(x, phase::in_doubt);
  note_waiting(n.id, "worker", "the store was restored from a backup: a worker that is not back yet may have it", now);
  timers_.push({doubted_until(x), x, n.seq, timer::purpose::restored});
}

void live_ledger::adopt(const operation_id& id, index worker) {
  const index x = find(id);
  if (x == none || operations_[x].phase != phase::in_doubt) return;
  enter_phase(x, phase::sent);
  if (operations_[x].is_held() && operations_[x].worker == worker) return;
  release(x); // it was placed again between the backup and its restore
  operations_.hold(x, worker);
  write_row(x);
}

/// The worker that had it when the backup was taken no longer has it; another one can.
void live_ledger::not_there(index x) {
  release(x);
  operations_.name_worker(x, none);
  write_row(x);
}

void live_ledger::end_doubt(index x, moment now) {
  if (operations_[x].phase != phase::in_doubt) return;
  if (stop_of(x)) return lose(x, proof::lease_expired, receipt::killed, {}, now);
  end_own_work(
      x,
      {status::failed,
       {},
       proof::lease_expired,
       {},
       records::own_error(failure_code::interrupted, "the store was restored from a backup: whether this ran since "
                                                     "the backup is not known; nothing of it lives any more")},
      now);
}

} // namespace quell::controller::live
