// The live operations of a scope, for a stop by chat message.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

std::uint64_t live_ledger::live_in(const scope_path& scope) const {
  const index at = scopes_.find(scope.text());
  return at == none ? 0 : scopes_[at].live;
}

std::uint64_t live_ledger::detached_tasks(const scope_path& scope) const {
  const index at = scopes_.find(scope.text());
  if (at == none) return 0;
  std::uint64_t count = 0;
  operations_.each_in_scope(at, [&](index x) {
    const operation_node& n = operations_[x];
    if (n.detached && n.scope == at && n.kind == quell::kind::task && !n.is_over()) ++count;
  });
  return count;
}

bool live_ledger::is_below_turn_in(const operation_id& id, const scope_path& scope) const {
  const index in = scopes_.find(scope.text());
  if (in == none) return false;
  for (index at = find(id); at != none; at = operation_parent(at))
    if (operations_[at].kind == quell::kind::turn && operations_[at].scope == in && !operations_[at].is_over())
      return true;
  return false;
}

/// Counts only work that has begun: waiting work makes nobody an owner.
bool live_ledger::has_live_of(const std::string& owner, const scope_path& scope) const {
  const index at = scopes_.find(scope.text()), who = operations_.find_owner(owner);
  if (at == none || who == none) return false;
  bool found = false;
  operations_.each_in_scope(
      at, [&](index x) { found = found || (operations_[x].owner == who && operations_[x].now != status::pending); });
  return found;
}

std::vector<outlined> live_ledger::outline(const scope_path& scope, std::size_t limit) const {
  const index at = scopes_.find(scope.text());
  if (at == none) return {};
  std::vector<index> all;
  operations_.each_in_scope(at, [&](index x) { all.push_back(x); });
  const auto older = [&](index a, index b) { return operations_[a].seq < operations_[b].seq; };
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(limit, all.size()));
  std::partial_sort(all.begin(), end, all.end(), older);
  all.erase(end, all.end());
  std::vector<outlined> outlines;
  for (const index x : all) outlines.push_back(outline_of(x));
  return outlines;
}

std::vector<outlined> live_ledger::dying_tasks(const scope_path& scope, const operation_id& root,
                                               std::size_t limit) const {
  const index at = scopes_.find(scope.text());
  if (at == none || (scopes_[at].stopping == 0 && sweeps_.empty())) return {};
  std::vector<outlined> outlines;
  operations_.each_in_scope(at, [&](index x) {
    const operation_node& n = operations_[x];
    if (outlines.size() == limit || n.kind != quell::kind::task || !n.is_held()) return;
    auto one = outline_of(x);
    if (one.now == status::cancelling && one.root != root) outlines.push_back(one);
  });
  return outlines;
}

outlined live_ledger::outline_of(index x) const {
  const operation_node& n = operations_[x];
  index root = x;
  while (operation_parent(root) != none) root = operation_parent(root);
  return {n.id, operations_[root].id, n.kind, stop_of(x) ? status::cancelling : n.now, n.grace};
}

} // namespace quell::controller::live
