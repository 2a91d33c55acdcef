// Updates counts along the path of a scope: at most 16 steps.
#include "controller/ledger/scope_tree.hpp"

#include <algorithm>

namespace quell::controller::live {

scope_tree::scope_tree() { nodes_.make(); }

index scope_tree::find(const std::string& text) const {
  const auto at = by_text_.find(text);
  return at == by_text_.end() ? none : at->second;
}

index scope_tree::find_or_make(const scope_path& path) {
  if (last_ != none && nodes_[last_].path == path) return last_;
  if (const index known = find(path.text()); known != none) return last_ = known;
  const auto above = path.parent();
  const index parent = above ? find_or_make(*above) : root;
  const index made = nodes_.make();
  scope_node& node = nodes_[made];
  node.path = path;
  node.parent = parent;
  node.generation = ++generations_;
  node.next_sibling = nodes_[parent].first_child;
  if (node.next_sibling != none) nodes_[node.next_sibling].previous_sibling = made;
  nodes_[parent].first_child = made;
  by_text_.emplace(path.text(), made);
  return last_ = made;
}

bool scope_tree::is_at_or_below(index scope, index other) const {
  for (index at = scope; at != none; at = nodes_[at].parent)
    if (at == other) return true;
  return false;
}

void scope_tree::count_live(index scope, std::int64_t change) {
  for (index at = scope; at != none; at = nodes_[at].parent) {
    scope_node& node = nodes_[at];
    const bool was_live = node.live > 0;
    node.live += static_cast<std::uint64_t>(change);
    if (at == root || was_live == (node.live > 0)) continue;
    if (was_live)
      live_by_text_.erase(node.path.text());
    else
      live_by_text_.emplace(by_text_.find(node.path.text())->first, at);
  }
}

void scope_tree::count_turns(index scope, std::int64_t change) {
  for (index at = scope; at != none; at = nodes_[at].parent) nodes_[at].turns += static_cast<std::uint64_t>(change);
}

void scope_tree::count_stopping(index scope, std::int64_t change) {
  for (index at = scope; at != none; at = nodes_[at].parent) nodes_[at].stopping += static_cast<std::uint64_t>(change);
}

void scope_tree::count_worker(index scope, index worker, std::int64_t change) {
  for (index at = scope; at != none; at = nodes_[at].parent) live::count_worker(nodes_[at].workers, worker, change);
}

void scope_tree::release_unused(index scope) {
  while (scope != root && scope != none) {
    scope_node& node = nodes_[scope];
    if (node.live > 0 || node.cutoff > 0 || node.holders > 0 || node.first_child != none) return;
    const index above = node.parent;
    if (node.next_sibling != none) nodes_[node.next_sibling].previous_sibling = node.previous_sibling;
    if (node.previous_sibling != none)
      nodes_[node.previous_sibling].next_sibling = node.next_sibling;
    else
      nodes_[above].first_child = node.next_sibling;
    by_text_.erase(node.path.text());
    nodes_.drop(scope);
    if (last_ == scope) last_ = none;
    scope = above;
  }
}

void count_worker(worker_counts& counts, index worker, std::int64_t change) {
  const auto at = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == worker; });
  if (at == counts.end()) {
    if (change > 0) counts.emplace_back(worker, static_cast<std::uint32_t>(change));
    return;
  }
  at->second = static_cast<std::uint32_t>(at->second + change);
  if (at->second > 0) return;
  *at = counts.back();
  counts.pop_back();
}

} // namespace quell::controller::live
