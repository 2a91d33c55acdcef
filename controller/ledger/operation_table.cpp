// Operations enter the table, leave it, and move between its lists; the counts follow.
#include "controller/ledger/operation_table.hpp"

#include <algorithm>
#include <cassert>
#include <set>

#include "controller/done_elsewhere.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

namespace {

/// The guild, or the token that takes its place: its holder chooses the scopes below its prefix, so they bring no turns
/// of their own.
std::string guild_with(const std::string& token, const scope_path& scope) {
  return is_tenant(token) ? token : scope.guild().text();
}

} // namespace

index operation_table::find(const operation_id& id) const {
  return by_id_.find(id, [&](index x) -> const operation_id& { return nodes_[x].id; });
}

index operation_table::parent_of(index x) const {
  const operation_node& n = nodes_[x];
  return n.detached ? none : n.parent;
}

bool operation_table::is_below(index x, index ancestor) const {
  for (index at = nodes_[x].parent; at != none; at = nodes_[at].parent)
    if (at == ancestor) return true;
  return false;
}

bool operation_table::never_sent(index x) const {
  const operation_node& n = nodes_[x];
  return n.phase == phase::ready || n.phase == phase::behind_older;
}

std::uint32_t operation_table::slots_of(index x) const {
  const operation_node& n = nodes_[x];
  return n.need == none ? 0 : needs_[n.need].slots;
}

std::size_t operation_table::started_with(const std::string& token) const {
  const index known = tokens_.find(token);
  return known == none ? 0 : tokens_.holders(known);
}

std::size_t operation_table::turns_started_with(const std::string& token) const {
  const index known = tokens_.find(token);
  return known == none ? 0 : turns_of_tokens_.of(known);
}

author_share operation_table::share_of(const std::string& token, const std::string& author) const {
  const index with = tokens_.find(token), whose = owners_.find(author);
  return with == none || whose == none ? author_share{} : authors_.of(with, whose);
}

index operation_table::add(const records::operation_record& r) {
  const index x = nodes_.make();
  by_id_.add(r.id, x);
  operation_node& n = nodes_[x];
  n.id = r.id;
  n.seq = r.seq;
  n.as_of = r.as_of;
  n.fingerprint = fingerprint_hash(r.fingerprint);
  n.since = r.created_at;
  n.grace = r.grace;
  n.kind = r.kind;
  if (n.kind == quell::kind::exchange) exchanges_.push_back(x);
  n.on_parent_end = r.on_parent_end;
  n.detached = r.detached;
  n.is_of_server = n.kind == quell::kind::tool_call && is_done_elsewhere(r.name);
  n.owner = owners_.hold(r.owner.id);
  put_under_owner(x);
  n.token = tokens_.hold(r.via_token_id);
  authors_.add(n.token, n.owner, r.kind);
  static const waiting_reason for_worker{"worker", "waiting to be placed on a worker"};
  n.waiting = reasons_.hold(for_worker);
  n.scope = scopes_.find_or_make(r.scope);
  if (n.kind == quell::kind::task) {
    n.need = need_for(r, n);
    n.spec = spec_blob(r.task);
    last_task_ = x;
  }
  if (r.timeout.count() > 0) details(x).timeout = r.timeout;
  if (r.task.lease) details(x).lease = r.task.lease;
  if (r.supersede) {
    details(x).supersede = *r.supersede;
    superseding_[{n.scope, *r.supersede}].push_back(x);
  }
  if (const index parent = r.parent ? find(*r.parent) : none; parent != none) {
    n.depth = static_cast<std::uint8_t>(nodes_[parent].depth + 1);
    put_below(x, parent);
  }
  for (index at = parent_of(x); at != none; at = parent_of(at)) ++nodes_[at].live_below;
  put_in_list(x);
  if (n.as_of < n.seq) ++scopes_[n.scope].deferred;
  scopes_.count_live(n.scope, 1);
  if (n.kind == quell::kind::turn) count_turn(n, 1);
  ++count_at(n);
  return x;
}

/// It enters the line of its guild.
requirement operation_table::requirement_of(const records::operation_record& r) {
  return {r.task.worker,
          r.task.on,
          r.task.slots,
          r.task.least_containment ? r.task.least_containment : least_,
          shares_.enter(guild_with(r.via_token_id, r.scope)),
          queue_of_author(r.owner.id)};
}

/// Mostly it is that of the task before it: the line follows from scope, token and owner, unless guilds have limits.
index operation_table::need_for(const records::operation_record& r, const operation_node& n) {
  const operation_node* before = last_task_ == none ? nullptr : &nodes_[last_task_];
  if (before && before->seq > 0 && before->need != none && shares_.is_off() && before->scope == n.scope &&
      before->token == n.token && before->owner == n.owner) {
    const requirement& known = needs_[before->need];
    if (known.worker == r.task.worker && known.on == r.task.on && known.slots == r.task.slots &&
        known.least == (r.task.least_containment ? r.task.least_containment : least_))
      return needs_.hold_again(before->need);
  }
  return needs_.hold(requirement_of(r));
}

/// For its token and its scopes; its author's share counts it, too.
void operation_table::count_turn(const operation_node& n, std::int64_t change) {
  turns_of_tokens_.count(n.token, change);
  scopes_.count_turns(n.scope, change);
}

/// Two guilds can meet in one line of those without a limit, but not in one limit.
std::string operation_table::guild_of(index x) const { return guild_with(token_of(x), scopes_[nodes_[x].scope].path); }

void operation_table::limit_slots(slots_by_guild of_guilds) {
  if (of_guilds == shares_.limits()) return;
  const auto before = shares_.limit(std::move(of_guilds));
  if (shares_.is_for_all()) return;
  for (index x = 0; x < nodes_.end_index(); ++x) {
    if (nodes_[x].seq == 0 || nodes_[x].need == none) continue;
    const auto guild = guild_of(x);
    if (before.contains(guild) != shares_.limits().contains(guild)) move_line(x);
  }
}

/// Its guild has a limit now and had none, or the reverse.
void operation_table::move_line(index x) {
  operation_node& n = nodes_[x];
  const auto guild = guild_of(x);
  if (shares_.most_of(guild) == 0) shares_.leave(guild, x);
  auto need = needs_[n.need];
  need.guild_queue = shares_.enter(guild);
  const index old = std::exchange(n.need, needs_.hold(need));
  needs_.release(old);
  if (n.is_held()) shares_.take(guild, slots_of(x));
  ++moves_of_lines_;
}

/// Puts it in front of its parent's other children.
void operation_table::put_below(index x, index parent) {
  operation_node& n = nodes_[x];
  operation_node& p = nodes_[parent];
  n.parent = parent;
  n.previous_sibling = none;
  n.next_sibling = p.first_child;
  if (p.first_child != none) nodes_[p.first_child].previous_sibling = x;
  p.first_child = x;
  ++p.children;
}

void operation_table::put_under_owner(index x) {
  operation_node& n = nodes_[x];
  if (n.owner >= owner_heads_.size()) owner_heads_.resize(n.owner + 1, none);
  index& head = owner_heads_[n.owner];
  n.owner_next = head;
  if (head != none) nodes_[head].owner_previous = x;
  head = x;
}

void operation_table::take_from_owner(index x) {
  operation_node& n = nodes_[x];
  if (n.owner_previous != none)
    nodes_[n.owner_previous].owner_next = n.owner_next;
  else
    owner_heads_[n.owner] = n.owner_next;
  if (n.owner_next != none) nodes_[n.owner_next].owner_previous = n.owner_previous;
}

void operation_table::remove(index x) {
  operation_node& n = nodes_[x];
  assert(n.live_below == 1 && !n.is_held());
  if (n.need != none && !shares_.is_off()) shares_.leave(guild_of(x), x);
  for (index at = parent_of(x); at != none; at = parent_of(at)) --nodes_[at].live_below;
  take_from_list(x);
  if (n.as_of < n.seq) --scopes_[n.scope].deferred;
  scopes_.count_live(n.scope, -1);
  if (n.kind == quell::kind::turn) count_turn(n, -1);
  if (n.is_stopped()) scopes_.count_stopping(n.scope, -1);
  --count_at(n);
  if (n.kind == quell::kind::exchange) std::erase(exchanges_, x);
  pass_on_children(x);
  if (n.parent != none) {
    operation_node& p = nodes_[n.parent];
    --p.children;
    if (n.previous_sibling != none)
      nodes_[n.previous_sibling].next_sibling = n.next_sibling;
    else
      p.first_child = n.next_sibling;
    if (n.next_sibling != none) nodes_[n.next_sibling].previous_sibling = n.previous_sibling;
  }
  authors_.remove(n.token, n.owner, n.kind);
  take_from_owner(x);
  owners_.release(n.owner);
  tokens_.release(n.token);
  if (n.waiting != none) reasons_.release(n.waiting);
  if (n.need != none) needs_.release(n.need);
  by_id_.drop(n.id, [&](index at) -> const operation_id& { return nodes_[at].id; });
  const index scope = n.scope;
  nodes_.drop(x);
  scopes_.release_unused(scope);
}

/// A detached child lives on as its own root and stays visible to the operations above.
void operation_table::pass_on_children(index x) {
  operation_node& n = nodes_[x];
  while (n.first_child != none) {
    const index child = n.first_child;
    operation_node& c = nodes_[child];
    assert(c.detached);
    n.first_child = c.next_sibling;
    if (n.first_child != none) nodes_[n.first_child].previous_sibling = none;
    c.parent = none;
    c.previous_sibling = none;
    c.next_sibling = none;
    if (n.parent != none) put_below(child, n.parent);
  }
}

operation_details& operation_table::details(index x) {
  auto& more = nodes_[x].details;
  if (!more) more = std::make_unique<operation_details>();
  return *more;
}

void operation_table::set_status(index x, status to) {
  operation_node& n = nodes_[x];
  --count_at(n);
  n.now = to;
  ++count_at(n);
}

void operation_table::set_phase(index x, phase to) { nodes_[x].phase = to; }

void operation_table::mark_stopped(index x) {
  operation_node& n = nodes_[x];
  take_from_list(x);
  n.is_stopped_ = true;
  put_in_list(x);
  scopes_.count_stopping(n.scope, 1);
}

bool operation_table::wait_for(index x, const waiting_reason& reason) {
  operation_node& n = nodes_[x];
  const index before = n.waiting, now = reasons_.hold(reason);
  if (before != none) reasons_.release(before);
  n.waiting = now;
  return before != now;
}

void operation_table::wait_no_more(index x) {
  operation_node& n = nodes_[x];
  if (n.waiting != none) reasons_.release(n.waiting);
  n.waiting = none;
}

void operation_table::put_in_list(index x) {
  operation_node& n = nodes_[x];
  operation_list& list = list_of(n);
  n.scope_previous = list.tail;
  n.scope_next = none;
  if (list.tail != none) nodes_[list.tail].scope_next = x;
  list.tail = x;
  if (list.head == none) list.head = x;
}

void operation_table::take_from_list(index x) {
  operation_node& n = nodes_[x];
  operation_list& list = list_of(n);
  (n.scope_previous != none ? nodes_[n.scope_previous].scope_next : list.head) = n.scope_next;
  (n.scope_next != none ? nodes_[n.scope_next].scope_previous : list.tail) = n.scope_previous;
}

void operation_table::hold(index x, index worker) {
  operation_node& n = nodes_[x];
  if (worker >= worker_states_.size()) worker_states_.resize(worker + 1);
  worker_state& w = worker_states_[worker];
  n.worker = worker;
  n.worker_previous = none;
  n.worker_next = w.head;
  if (w.head != none) nodes_[w.head].worker_previous = x;
  w.head = x;
  ++w.live;
  w.slots += slots_of(x);
  if (!shares_.is_off()) shares_.take(guild_of(x), slots_of(x));
  scopes_.count_worker(n.scope, worker, 1);
  for (index at = parent_of(x); at != none; at = parent_of(at)) count_worker(details(at).workers_below, worker, 1);
}

std::optional<freed_slots> operation_table::release(index x) {
  operation_node& n = nodes_[x];
  if (!n.is_held()) return std::nullopt;
  worker_state& w = worker_states_[n.worker];
  if (n.worker_previous != none)
    nodes_[n.worker_previous].worker_next = n.worker_next;
  else
    w.head = n.worker_next;
  if (n.worker_next != none) nodes_[n.worker_next].worker_previous = n.worker_previous;
  --w.live;
  w.slots -= slots_of(x);
  if (!shares_.is_off()) shares_.give_back(guild_of(x), slots_of(x));
  scopes_.count_worker(n.scope, n.worker, -1);
  for (index at = parent_of(x); at != none; at = parent_of(at)) count_worker(details(at).workers_below, n.worker, -1);
  return freed_slots{n.worker, slots_of(x)};
}

std::vector<index> operation_table::workers_of(index x) const {
  const operation_node& n = nodes_[x];
  std::set<index> found;
  if (n.is_held()) found.insert(n.worker);
  if (n.details)
    for (const auto& [worker, count] : n.details->workers_below) found.insert(worker);
  return {found.begin(), found.end()};
}

index operation_table::first_held(index worker) const {
  return worker < worker_states_.size() ? worker_states_[worker].head : none;
}

std::vector<index> operation_table::held_by(index worker) const {
  std::vector<index> held;
  if (worker >= worker_states_.size()) return held;
  held.reserve(worker_states_[worker].live);
  for (index x = worker_states_[worker].head; x != none; x = nodes_[x].worker_next) held.push_back(x);
  std::sort(held.begin(), held.end(), [&](index a, index b) { return nodes_[a].seq < nodes_[b].seq; });
  return held;
}

std::uint64_t operation_table::live_on(index worker) const {
  return worker < worker_states_.size() ? worker_states_[worker].live : 0;
}

std::uint32_t operation_table::slots_on(index worker) const {
  return worker < worker_states_.size() ? worker_states_[worker].slots : 0;
}

const std::vector<index>* operation_table::with_key(index scope, const std::string& key) const {
  const auto at = superseding_.find({scope, key});
  return at == superseding_.end() ? nullptr : &at->second;
}

index operation_table::leave_key(index x) {
  const operation_node& n = nodes_[x];
  if (!n.details || n.details->supersede.empty()) return none;
  const auto at = superseding_.find({n.scope, n.details->supersede});
  std::erase(at->second, x);
  if (!at->second.empty()) return at->second.front();
  superseding_.erase(at);
  return none;
}

} // namespace quell::controller::live
