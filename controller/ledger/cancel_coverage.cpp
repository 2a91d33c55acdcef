// The operations that a cancel covers: counted if a counter gives them, else listed.
#include <algorithm>

#include "controller/ledger/cancel_runs.hpp"

namespace quell::controller::live {

bool cancel_runs::broad_matches(const cancel_run& run, index x) const {
  const operation_node& n = operations_[x];
  return n.seq < run.record.seq && n.as_of <= run.record.cutoff && (run.owner == none || run.owner == n.owner) &&
         scopes_.is_at_or_below(n.scope, run.scope);
}

void cancel_runs::covering(index x, std::vector<cancel_run*>& out) const {
  out.clear();
  if (runs_.empty()) return;
  const auto add = [&](cancel_run* run) {
    if (operations_[x].seq < run->record.seq && std::find(out.begin(), out.end(), run) == out.end()) out.push_back(run);
  };
  for (index at = x; at != none; at = operations_.parent_of(at)) {
    const operation_node& n = operations_[at];
    if (n.details)
      for (cancel_run* run : n.details->targets) add(run);
    if (scope_cancels_ > 0)
      for (index scope = n.scope; scope != none; scope = scopes_[scope].parent)
        for (cancel_run* run : scopes_[scope].cancels)
          if (n.as_of <= run->record.cutoff) add(run);
    for (cancel_run* run : broad_)
      if (broad_matches(*run, at)) add(run);
  }
}

bool cancel_runs::covers(const cancel_run& run, index x) const {
  if (operations_[x].seq >= run.record.seq) return false;
  for (index at = x; at != none; at = operations_.parent_of(at)) {
    const operation_node& n = operations_[at];
    if (run.is_broad()) {
      if (broad_matches(run, at)) return true;
    } else if (run.is_scope()) {
      if (n.as_of <= run.record.cutoff && scopes_.is_at_or_below(n.scope, run.scope)) return true;
    } else if (at == run.operation) {
      return true;
    }
  }
  return false;
}

/// True if no operation in the target is newer than the cutoff and every one matches: then the target's own counters
/// are exact.
bool cancel_runs::is_full(const cancel_run& run, std::uint64_t next_seq) const {
  if (run.operation != none) return true;
  return run.scope != none && run.owner == none && run.record.cutoff + 1 >= next_seq;
}

std::vector<index> cancel_runs::covered_list(const cancel_run& run) const {
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

std::uint64_t cancel_runs::count_covered(const cancel_run& run, std::uint64_t next_seq) const {
  if (run.operation != none) return operations_[run.operation].live_below;
  if (run.scope == none) return 0;
  if (is_full(run, next_seq)) return scopes_[run.scope].live;
  return covered_list(run).size();
}

std::vector<index> cancel_runs::workers_below(const cancel_run& run, std::uint64_t next_seq) const {
  if (run.operation != none) return operations_.workers_of(run.operation);
  if (run.scope == none) return {};
  std::vector<index> found;
  for (const auto& [worker, count] : scopes_[run.scope].workers) found.push_back(worker);
  std::sort(found.begin(), found.end());
  if (is_full(run, next_seq)) return found;
  std::erase_if(found, [&](index worker) {
    for (index x = operations_.first_held(worker); x != none; x = operations_[x].worker_next)
      if (covers(run, x)) return false;
    return true;
  });
  return found;
}

} // namespace quell::controller::live
