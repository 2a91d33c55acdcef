// The table of live operations: only this file enters a node into lists and counts and removes it.
#include <algorithm>
#include <cassert>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

index live_ledger::find(const operation_id& id) const {
  return by_id_.find(id, [&](index x) -> const operation_id& { return operations_[x].id; });
}

operation_details& live_ledger::details(index x) {
  auto& more = operations_[x].details;
  if (!more) more = std::make_unique<operation_details>();
  return *more;
}

index live_ledger::operation_parent(index x) const {
  const operation_node& n = operations_[x];
  return n.detached ? none : n.parent;
}

index live_ledger::add_operation(const records::operation_record& r) {
  const index x = operations_.make();
  by_id_.add(r.id, x, [&](index at) -> const operation_id& { return operations_[at].id; });
  operation_node& n = operations_[x];
  n.id = r.id;
  n.seq = r.seq;
  n.as_of = r.as_of;
  n.fingerprint = fingerprint_hash(r.fingerprint);
  n.since = r.created_at;
  n.grace = r.grace;
  n.kind = r.kind;
  n.on_parent_end = r.on_parent_end;
  n.detached = r.detached;
  n.owner = owners_.hold(r.owner.id);
  authors_.add(n.owner, r.kind);
  n.token = tokens_.hold(r.via_token_id);
  n.waiting = reasons_.hold({"worker", "waiting to be placed on a worker"});
  n.scope = scopes_.find_or_make(r.scope);
  n.parent = r.parent ? find(*r.parent) : none;
  if (n.kind == quell::kind::task) {
    n.need = needs_.hold(requirement_of(r.task, r.owner.id));
    n.spec = spec_blob(r.task);
  }
  if (n.kind == quell::kind::external) {
    enter_external(x, read_external_block(r.kind_data));
    n.external->name = r.name;
    n.external->labels = r.labels;
  }
  if (r.timeout.count() > 0) details(x).timeout = r.timeout;
  if (r.task.lease) details(x).lease = r.task.lease;
  if (r.supersede) {
    details(x).supersede = *r.supersede;
    superseding_[{n.scope, *r.supersede}].push_back(x);
  }
  if (n.parent != none) {
    operation_node& p = operations_[n.parent];
    n.depth = static_cast<std::uint8_t>(p.depth + 1);
    n.next_sibling = p.first_child;
    if (p.first_child != none) operations_[p.first_child].previous_sibling = x;
    p.first_child = x;
    ++p.children;
  }
  for (index at = operation_parent(x); at != none; at = operation_parent(at)) ++operations_[at].live_below;
  put_in_list(x);
  scopes_.count_live(n.scope, 1);
  ++live_count_of(n);
  return x;
}

void live_ledger::remove_operation(index x) {
  operation_node& n = operations_[x];
  assert(n.live_below == 1 && !n.is_held());
  for (index at = operation_parent(x); at != none; at = operation_parent(at)) --operations_[at].live_below;
  take_from_list(x);
  scopes_.count_live(n.scope, -1);
  if (n.is_stopped) scopes_.count_stopping(n.scope, -1);
  --live_count_of(n);

  // A detached child lives on as its own root and stays visible to the operations above.
  while (n.first_child != none) {
    const index child = n.first_child;
    operation_node& c = operations_[child];
    assert(c.detached);
    n.first_child = c.next_sibling;
    if (n.first_child != none) operations_[n.first_child].previous_sibling = none;
    c.parent = n.parent;
    c.previous_sibling = none;
    c.next_sibling = none;
    if (n.parent == none) continue;
    operation_node& above = operations_[n.parent];
    c.next_sibling = above.first_child;
    if (above.first_child != none) operations_[above.first_child].previous_sibling = child;
    above.first_child = child;
    ++above.children;
  }
  if (n.parent != none) {
    operation_node& p = operations_[n.parent];
    --p.children;
    if (n.previous_sibling != none)
      operations_[n.previous_sibling].next_sibling = n.next_sibling;
    else
      p.first_child = n.next_sibling;
    if (n.next_sibling != none) operations_[n.next_sibling].previous_sibling = n.previous_sibling;
  }
  if (n.external) leave_external(x);
  authors_.remove(n.owner, n.kind);
  owners_.release(n.owner);
  tokens_.release(n.token);
  if (n.waiting != none) reasons_.release(n.waiting);
  if (n.need != none) needs_.release(n.need);
  by_id_.drop(n.id, [&](index at) -> const operation_id& { return operations_[at].id; });
  const index scope = n.scope;
  operations_.drop(x);
  scopes_.release_unused(scope);
}

void live_ledger::put_in_list(index x) {
  operation_node& n = operations_[x];
  operation_list& list = n.is_stopped ? scopes_[n.scope].stopped : scopes_[n.scope].plain;
  n.scope_previous = list.tail;
  n.scope_next = none;
  if (list.tail != none) operations_[list.tail].scope_next = x;
  list.tail = x;
  if (list.head == none) list.head = x;
}

void live_ledger::take_from_list(index x) {
  operation_node& n = operations_[x];
  operation_list& list = n.is_stopped ? scopes_[n.scope].stopped : scopes_[n.scope].plain;
  (n.scope_previous != none ? operations_[n.scope_previous].scope_next : list.head) = n.scope_next;
  (n.scope_next != none ? operations_[n.scope_next].scope_previous : list.tail) = n.scope_previous;
}

void live_ledger::hold(index x, index worker) {
  operation_node& n = operations_[x];
  worker_state& w = worker_states_[worker];
  n.worker = worker;
  n.worker_previous = none;
  n.worker_next = w.head;
  if (w.head != none) operations_[w.head].worker_previous = x;
  w.head = x;
  ++w.live;
  w.slots += slots_of(x);
  scopes_.count_worker(n.scope, worker, 1);
  for (index at = operation_parent(x); at != none; at = operation_parent(at))
    live::count_worker(details(at).workers_below, worker, 1);
}

void live_ledger::release(index x) {
  operation_node& n = operations_[x];
  if (!n.is_held()) return;
  worker_state& w = worker_states_[n.worker];
  (n.worker_previous != none ? operations_[n.worker_previous].worker_next : w.head) = n.worker_next;
  if (n.worker_next != none) operations_[n.worker_next].worker_previous = n.worker_previous;
  --w.live;
  w.slots -= slots_of(x);
  scopes_.count_worker(n.scope, n.worker, -1);
  for (index at = operation_parent(x); at != none; at = operation_parent(at))
    live::count_worker(details(at).workers_below, n.worker, -1);
  effects_.freed.emplace_back(workers_[n.worker], slots_of(x));
}

index live_ledger::worker_index(const std::string& name) {
  if (const index known = workers_.find(name); known != none) return known;
  const index w = workers_.hold(name);
  if (w >= worker_states_.size()) worker_states_.resize(w + 1);
  return w;
}

index live_ledger::known_worker(const std::string& name) const { return workers_.find(name); }

std::vector<index> live_ledger::held_by(index worker) const {
  std::vector<index> held;
  if (worker == none) return held;
  held.reserve(worker_states_[worker].live);
  for (index x = worker_states_[worker].head; x != none; x = operations_[x].worker_next) held.push_back(x);
  std::sort(held.begin(), held.end(), [&](index a, index b) { return operations_[a].seq < operations_[b].seq; });
  return held;
}

bool live_ledger::never_sent(index x) const {
  const operation_node& n = operations_[x];
  return n.phase == phase::ready || n.phase == phase::behind_older;
}

std::uint32_t live_ledger::slots_of(index x) const {
  const operation_node& n = operations_[x];
  return n.need == none ? 0 : needs_[n.need].slots;
}

requirement live_ledger::requirement_of(const task_spec& spec, const std::string& author) const {
  return {spec.worker, spec.on, spec.slots, spec.least_containment ? spec.least_containment : settings_.min_containment,
          queue_of_author(author)};
}

void live_ledger::offer(index x) {
  const operation_node& n = operations_[x];
  if (n.kind == quell::kind::task && n.phase == phase::ready) effects_.placeable.emplace_back(needs_[n.need], n.id);
}

} // namespace quell::controller::live
