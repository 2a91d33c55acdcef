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
  ++visits_;
  const auto add = [&](cancel_run* run) {
    if (operations_[x].seq >= run->record.seq || run->visit == visits_) return;
    run->visit = visits_;
    out.push_back(run);
  };
  for (index at = x; at != none; at = operations_.parent_of(at)) {
    const operation_node& n = operations_[at];
    if (n.details)
      for (cancel_run* run : n.details->targets) add(run);
    if (scope_cancels_ > 0)
      for (index scope = n.scope; scope != none; scope = scopes_[scope].parent)
        for (cancel_run* run : scopes_[scope].cancels)
          if (n.as_of <= run->record.cutoff) add(run);
    each_broad_of(at, [&](cancel_run& run) { add(&run); });
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
  const auto add_what_hangs_on = [&](std::size_t first) {
    for (std::size_t i = first; i < found.size(); ++i)
      for (index c = operations_[found[i]].first_child; c != none; c = operations_[c].next_sibling)
        if (!operations_[c].detached) found.push_back(c);
  };
  if (run.operation != none) {
    found.push_back(run.operation);
    add_what_hangs_on(0);
  } else if (run.owner != none) { // never by the operations of others
    operations_.each_of_owner(run.owner, [&](index x) {
      const index above = operations_.parent_of(x);
      if (!broad_matches(run, x) || (above != none && covers(run, above))) return; // it hangs on another one
      found.push_back(x);
      add_what_hangs_on(found.size() - 1);
    });
    std::erase_if(found, [&](index x) { return operations_[x].seq >= run.record.seq; });
  } else if (run.scope != none) {
    add_of_scopes(run, found);
  }
  std::sort(found.begin(), found.end(), [&](index a, index b) { return operations_[a].seq < operations_[b].seq; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// Operations that came after the cutoff are at the end of their scope's list, and are not read: they can be covered
/// only as children, or, if the scope holds deferred ones at all, by their as_of. Those that are being stopped are in
/// no order.
void cancel_runs::add_of_scopes(const cancel_run& run, std::vector<index>& found) const {
  const std::uint64_t cutoff = run.record.cutoff;
  std::vector<index> inner{run.scope};
  while (!inner.empty()) {
    const scope_node& node = scopes_[inner.back()];
    inner.pop_back();
    for (index x = node.plain.head; x != none; x = operations_[x].scope_next) {
      if (operations_[x].seq > cutoff && node.deferred == 0) break;
      if (covers(run, x)) found.push_back(x);
    }
    for (index x = node.stopped.head; x != none; x = operations_[x].scope_next)
      if (covers(run, x)) found.push_back(x);
    for (index child = node.first_child; child != none; child = scopes_[child].next_sibling)
      if (scopes_[child].live > 0) inner.push_back(child);
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    for (index c = operations_[found[i]].first_child; c != none; c = operations_[c].next_sibling)
      if (!operations_[c].detached && operations_[c].seq > cutoff && operations_[c].seq < run.record.seq)
        found.push_back(c);
}

std::vector<index> cancel_runs::oldest_covered(const cancel_run& run, std::uint64_t next_seq, std::size_t most) const {
  std::vector<index> found;
  if (run.operation != none || run.scope == none || !is_full(run, next_seq)) {
    found = covered_list(run);
  } else {
    std::vector<index> inner{run.scope};
    while (!inner.empty()) {
      const scope_node& node = scopes_[inner.back()];
      inner.pop_back();
      for (const index head : {node.plain.head, node.stopped.head}) { // each in the order of seq
        std::size_t taken = 0;
        for (index x = head; x != none && taken < most; x = operations_[x].scope_next, ++taken) found.push_back(x);
      }
      for (index child = node.first_child; child != none; child = scopes_[child].next_sibling)
        if (scopes_[child].live > 0) inner.push_back(child);
    }
    std::sort(found.begin(), found.end(), [&](index a, index b) { return operations_[a].seq < operations_[b].seq; });
  }
  if (found.size() > most) found.resize(most);
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
