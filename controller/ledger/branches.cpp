// Pages of the live tree. Each call reads a bounded number of operations, so that no reader delays a stop: a page can
// be short and still have a next one.
#include <algorithm>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller::live {

/// The first entry after `place` in a list ordered by seq. If the operation of `place` is still in the list, its
/// successor is the answer; if it has left, the list is walked, at most `most_looks` steps.
template <class Next, class IsThere, class IsBehind>
index live_ledger::behind(index head, const tree_place& place, Next next, IsThere is_there, IsBehind is_behind) const {
  if (place.seq == 0) return head;
  if (place.slot < operations_.end_index() && is_same(place.slot, place.seq) && is_there(place.slot))
    return next(place.slot);
  std::size_t looks = 0;
  while (head != none && looks++ < most_looks && !is_behind(operations_[head].seq, place.seq)) head = next(head);
  return head;
}

tree_branch live_ledger::branch_of(index x) const {
  const operation_node& n = operations_[x];
  return {n.id, n.children, n.live_below - 1};
}

tree_page live_ledger::branches(const tree_question& q) const {
  tree_page page;
  page.event = next_event_ - 1;
  if (q.what == branches_of::operation) {
    const index at = q.operation ? find(*q.operation) : none;
    page.is_live = at != none;
    if (page.is_live) list_children(at, q, page);
    return page;
  }
  const index at = q.scope ? scopes_.find(q.scope->text()) : scope_tree::root;
  if (at == none) return page;
  page.live = scopes_[at].live;
  page.cancelling = scopes_[at].stopping;
  if (q.what == branches_of::roots)
    list_roots(at, q, page);
  else
    list_scope(at, q, page);
  return page;
}

void live_ledger::list_children(index parent, const tree_question& q, tree_page& page) const {
  page.live = operations_[parent].children;
  const auto next = [this](index x) { return operations_[x].next_sibling; };
  const auto is_there = [&](index x) { return operations_[x].parent == parent; };
  const auto is_older = [](std::uint64_t seq, std::uint64_t than) { return seq < than; };
  index x = behind(operations_[parent].first_child, q.after.value_or(tree_place{}), next, is_there, is_older);
  index last = none;
  for (; x != none && page.operations.size() < q.limit; x = next(x)) {
    page.operations.push_back(branch_of(x));
    last = x;
  }
  if (x != none && last != none) page.next = tree_place{"", last, operations_[last].seq, false};
}

/// Walks the slots in order: an operation that lives all the while is returned exactly once.
void live_ledger::list_roots(index scope, const tree_question& q, tree_page& page) const {
  index x = q.after && q.after->seq > 0 ? std::min(q.after->slot, operations_.end_index()) : 0;
  if (q.after && q.after->seq > 0 && x < operations_.end_index()) ++x;
  std::size_t looks = 0;
  for (; x < operations_.end_index(); ++x) {
    if (page.operations.size() == q.limit || looks++ == most_looks) {
      page.next = tree_place{"", x - 1, 1, false};
      return;
    }
    const operation_node& n = operations_[x];
    if (n.seq > 0 && n.parent == none && scopes_.is_at_or_below(n.scope, scope))
      page.operations.push_back(branch_of(x));
  }
}

void live_ledger::list_scope(index scope, const tree_question& q, tree_page& page) const {
  const tree_place from = q.after.value_or(tree_place{});
  if (from.seq == 0 && !list_inner_scopes(scope, from.scope, q.limit, page)) return;
  const auto next = [this](index x) { return operations_[x].scope_next; };
  const auto is_newer = [](std::uint64_t seq, std::uint64_t than) { return seq > than; };
  std::size_t looks = 0;
  index last = none;
  for (const bool stopping : {true, false}) {
    if (from.seq > 0 && stopping && !from.is_stopping) continue; // they came on an earlier page
    const auto is_there = [&](index x) {
      return operations_[x].scope == scope && operations_[x].is_stopped() == stopping;
    };
    const index head = stopping ? scopes_[scope].stopped.head : scopes_[scope].plain.head;
    index x = from.is_stopping == stopping ? behind(head, from, next, is_there, is_newer) : head;
    for (; x != none; x = next(x)) {
      const operation_node& n = operations_[x];
      if (page.scopes.size() + page.operations.size() >= q.limit || looks++ == most_looks) {
        page.next = last == none ? tree_place{page.scopes.back().scope.text(), 0, 0, false}
                                 : tree_place{"", last, operations_[last].seq, operations_[last].is_stopped()};
        return;
      }
      last = x;
      if (n.parent == none || operations_[n.parent].scope != scope) page.operations.push_back(branch_of(x));
    }
  }
}

/// Adds the scopes directly in this one with live work, by name, after `after`. False: the page is full.
bool live_ledger::list_inner_scopes(index scope, const std::string& after, std::size_t limit, tree_page& page) const {
  const auto& all = scopes_.live_by_text();
  const std::string above = scope == scope_tree::root ? "" : scopes_[scope].path.text() + "/";
  std::size_t looks = 0; // what a sweep has still to tell has no event yet
  auto at = after.empty() ? all.lower_bound(above) : all.upper_bound(after);
  while (at != all.end() && at->first.starts_with(above)) {
    const auto end = at->first.find('/', above.size());
    if (end != std::string_view::npos) { // it lies deeper: skip the rest of that inner scope
      at = all.lower_bound(std::string(at->first.substr(0, end)) + static_cast<char>('/' + 1));
      continue;
    }
    if (page.scopes.size() == limit) {
      page.next = tree_place{page.scopes.back().scope.text(), 0, 0, false};
      return false;
    }
    page.scopes.push_back(view_of_scope(at->second, looks));
    ++at;
  }
  return true;
}

} // namespace quell::controller::live
