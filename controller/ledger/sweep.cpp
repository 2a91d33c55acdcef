// Applies stops to their leaves, a bounded number per call; pending sweeps take turns.
//
// Children go before their parents, so that most operations end with one row. Within a scope the oldest go first,
// because operations that came after the cancel are at the end of the list and are never read.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

namespace {
constexpr std::size_t looks_per_leaf = 8; // visiting an operation that is already stopped is cheap, but not free
constexpr std::size_t brief_step = 16;    // leaves; a few tens of microseconds
constexpr std::size_t most_below_in_brief_step = 64;

/// Whether so many siblings follow that a brief step must not walk them.
template <class Table>
bool is_long_list(const Table& table, index first) {
  std::size_t seen = 0;
  for (index at = first; at != none; at = table[at].next_sibling)
    if (++seen > most_below_in_brief_step) return true;
  return false;
}
} // namespace

bool live_ledger::step_briefly(moment now) {
  return step(now, std::min(brief_step, settings_.leaves_per_step), step_length::brief);
}

bool live_ledger::step(moment now, std::size_t budget, step_length length) {
  if (sweeps_.empty()) return false;
  if (scopes_[scope_tree::root].live > budget) effects_.journal.reserve(effects_.journal.size() + 2 * budget + 64);
  for (std::size_t turn = sweeps_.size(); turn > 0 && budget > 0; --turn) {
    sweep current = std::move(sweeps_.front());
    sweeps_.pop_front();
    budget = run_sweep(current, budget, length, now);
    if (!current.stack.empty()) sweeps_.push_back(std::move(current));
  }
  return !sweeps_.empty();
}

bool live_ledger::has_many_below(const sweep::item& top) const {
  if (top.what == sweep::visit::scope) return is_long_list(scopes_, scopes_[top.at].first_child);
  return top.what == sweep::visit::above_leaf && is_same(top.at, top.guard) &&
         is_long_list(operations_, operations_[top.at].first_child);
}

std::size_t live_ledger::run_sweep(sweep& s, std::size_t budget, step_length length, moment now) {
  std::size_t looks = budget * looks_per_leaf;
  while (!s.stack.empty() && budget > 0 && looks > 0) {
    --looks;
    const sweep::item top = s.stack.back();
    if (length == step_length::brief && has_many_below(top)) return 0; // that is for a whole step
    s.stack.pop_back();
    switch (top.what) {
    case sweep::visit::scope: {
      if (scopes_[top.at].generation != top.guard) break;
      s.stack.push_back({sweep::visit::scope_list, top.at, top.guard});
      for (index c = scopes_[top.at].first_child; c != none; c = scopes_[c].next_sibling)
        if (scopes_[c].live > 0) s.stack.push_back({sweep::visit::scope, c, scopes_[c].generation});
      break;
    }
    case sweep::visit::scope_list: {
      if (scopes_[top.at].generation != top.guard) break;
      const index head = scopes_[top.at].plain.head;
      if (head == none || operations_[head].seq >= s.limit || operations_[head].seq == top.last) break;
      s.stack.push_back({top.what, top.at, top.guard, operations_[head].seq});
      s.stack.push_back({sweep::visit::above_leaf, head, operations_[head].seq});
      break;
    }
    case sweep::visit::above_leaf: {
      if (!is_same(top.at, top.guard)) break;
      s.stack.push_back({sweep::visit::operation, top.at, top.guard});
      if (operations_[top.at].live_below > 1) push_children(s, top.at);
      break;
    }
    case sweep::visit::operation: {
      if (!is_same(top.at, top.guard) || operations_[top.at].is_stopped()) break;
      --budget;
      visit(top.at, now);
      break;
    }
    }
  }
  return budget;
}

void live_ledger::visit(index x, moment now) {
  if (const auto stop = stop_of(x)) apply_stop(x, *stop, now);
}

void live_ledger::push_children(sweep& s, index x) const {
  for (index c = operations_[x].first_child; c != none; c = operations_[c].next_sibling)
    if (!operations_[c].detached) s.stack.push_back({sweep::visit::above_leaf, c, operations_[c].seq});
}

void live_ledger::queue_below(index x) {
  // Many small sweeps (the children of one parent) share one, as long as it has not been started.
  if (sweeps_.empty() || sweeps_.back().limit != 0) sweeps_.emplace_back();
  sweeps_.back().stack.push_back({sweep::visit::above_leaf, x, operations_[x].seq});
}

void live_ledger::queue_sweep(const cancel_run& run) {
  sweep s;
  s.limit = run.record.seq;
  const bool by_scope = run.scope != none && run.owner == none && !run.record.up_to_seq;
  if (run.operation != none) {
    s.stack.push_back({sweep::visit::above_leaf, run.operation, run.operation_seq});
  } else if (by_scope) {
    s.stack.push_back({sweep::visit::scope, run.scope, scopes_[run.scope].generation});
  } else {
    for (const index x : runs_.covered_list(run)) s.stack.push_back({sweep::visit::operation, x, operations_[x].seq});
  }
  sweeps_.push_back(std::move(s));
}

} // namespace quell::controller::live
