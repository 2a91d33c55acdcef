// The effect of a cancel on the operations that it covers: the stops for the workers, or, in a dry run, a list.
#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

namespace {
constexpr std::size_t most_would_stop = 1'000;
}

void live_ledger::send_stops(const cancel_run& run, const std::vector<index>& workers,
                             std::optional<milliseconds> grace) {
  if (workers.empty()) return;
  wire::stop message;
  message.seq = run.record.seq;
  message.cancel = run.record.id;
  message.cause = stop_cause::cancel;
  message.grace = grace;
  const bool names_leaves = run.is_broad() || (run.is_scope() && run.record.up_to_seq);
  if (run.is_scope()) {
    message.scope = std::get<records::target_scope>(run.record.target).scope;
    message.cutoff = run.record.cutoff;
  }
  if (const auto* o = std::get_if<records::target_operation>(&run.record.target)) message.operations = {o->id};
  if (!names_leaves) {
    stop_order order{{}, std::move(message)};
    for (const index w : workers) order.workers.push_back(workers_[w]);
    effects_.stops.push_back(std::move(order));
    return;
  }
  // A worker cannot derive these operations by itself, so the stop lists its own ones.
  for (const index w : workers) {
    stop_order order{{workers_[w]}, message};
    for (const index x : operations_.held_by(w))
      if (runs_.covers(run, x) && (run.is_broad() || operations_[x].as_of > run.record.cutoff))
        order.message.operations.push_back(operations_[x].id);
    effects_.stops.push_back(std::move(order));
  }
}

cancel_view live_ledger::dry_view(cancel_run run) const {
  cancel_view view;
  const std::uint64_t covered = runs_.count_covered(run, next_seq_);
  for (const index w : runs_.workers_below(run, next_seq_)) run.record.report.workers.push_back(workers_[w]);
  run.record.report.operations = covered;
  // Before the record gets a seq of its own: it covers what has been created so far.
  for (const index x : runs_.oldest_covered(run, next_seq_, most_would_stop))
    view.would_stop.push_back(operations_[x].id);
  run.record.seq = last_seq();
  if (!run.record.up_to_seq) run.record.up_to_seq = run.record.seq; // a repeat with this value covers exactly this set
  if (run.record.outcome == cancel_outcome::stopping && covered == 0) run.record.outcome = cancel_outcome::nothing_live;
  view.record = std::move(run.record);
  view.truncated = covered > most_would_stop;
  return view;
}

} // namespace quell::controller::live
