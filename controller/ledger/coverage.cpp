// The operations that a cancel covers: counted if a counter gives them, else listed. Also the stops sent to the
// workers.
#include <algorithm>
#include <set>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

namespace {
constexpr std::size_t most_would_stop = 1'000;
}

/// True if no operation in the target is newer than the cutoff and every one matches: then the target's own counters
/// are exact.
bool live_ledger::is_full(const cancel_run& run) const {
  if (run.operation != none) return true;
  return run.scope != none && run.owner == none && run.record.cutoff + 1 >= next_seq_;
}

std::vector<index> live_ledger::covered_list(const cancel_run& run) const {
  std::vector<index> found;
  if (run.operation != none) {
    found.push_back(run.operation);
    for (std::size_t i = 0; i < found.size(); ++i)
      for (index c = operations_[found[i]].first_child; c != none; c = operations_[c].next_sibling)
        if (!operations_[c].detached) found.push_back(c);
  } else if (run.scope != none) {
    operations_.each_in_scope(run.scope, [&](index x) {
      if (covers(run, x)) found.push_back(x);
    });
  }
  std::sort(found.begin(), found.end(), [&](index a, index b) { return operations_[a].seq < operations_[b].seq; });
  return found;
}

std::uint64_t live_ledger::count_covered(const cancel_run& run) const {
  if (run.operation != none) return operations_[run.operation].live_below;
  if (run.scope == none) return 0;
  if (is_full(run)) return scopes_[run.scope].live;
  return covered_list(run).size();
}

std::vector<index> live_ledger::workers_of(index x) const {
  const operation_node& n = operations_[x];
  std::set<index> found;
  if (n.is_held()) found.insert(n.worker);
  if (n.details)
    for (const auto& [worker, count] : n.details->workers_below) found.insert(worker);
  return {found.begin(), found.end()};
}

std::vector<index> live_ledger::workers_below(const cancel_run& run) const {
  if (run.operation != none) return workers_of(run.operation);
  if (run.scope == none) return {};
  std::vector<index> found;
  for (const auto& [worker, count] : scopes_[run.scope].workers) found.push_back(worker);
  std::sort(found.begin(), found.end());
  if (is_full(run)) return found;
  std::erase_if(found, [&](index worker) {
    for (index x = operations_.first_held(worker); x != none; x = operations_[x].worker_next)
      if (covers(run, x)) return false;
    return true;
  });
  return found;
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
      if (covers(run, x) && (run.is_broad() || operations_[x].as_of > run.record.cutoff))
        order.message.operations.push_back(operations_[x].id);
    effects_.stops.push_back(std::move(order));
  }
}

cancel_view live_ledger::dry_view(cancel_run run) const {
  cancel_view view;
  const std::vector<index> covered = covered_list(run);
  for (const index w : workers_below(run)) run.record.report.workers.push_back(workers_[w]);
  run.record.report.operations = covered.size();
  run.record.seq = last_seq();
  if (!run.record.up_to_seq) run.record.up_to_seq = run.record.seq; // a repeat with this value covers exactly this set
  if (run.record.outcome == cancel_outcome::stopping && covered.empty())
    run.record.outcome = cancel_outcome::nothing_live;
  view.record = std::move(run.record);
  view.truncated = covered.size() > most_would_stop;
  for (const index x : covered) {
    if (view.would_stop.size() == most_would_stop) break;
    view.would_stop.push_back(operations_[x].id);
  }
  return view;
}

} // namespace quell::controller::live
