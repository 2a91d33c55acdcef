// Lists of the external operations of a session, by scope; the end of a lease.
#include "controller/ledger/external_leases.hpp"

#include <algorithm>

namespace quell::controller::live {

void external_leases::enter(index x, const external_spec& spec, const records::operation_record& r) {
  operation_node& n = operations_[x];
  n.external = std::make_unique<external_state>();
  external_state& e = *n.external;
  e.name = r.name;
  e.labels = r.labels;
  e.lease = spec.lease;
  e.start = spec.start;
  if (!spec.session.empty()) join(x, spec.session);
}

void external_leases::join(index x, const std::string& session) {
  external_state& e = *operations_[x].external;
  const auto at = sessions_.try_emplace(session).first;
  const auto [found, is_first] = at->second.try_emplace(operations_[x].scope, none);
  if (is_first) {
    found->second = groups_.make();
    groups_[found->second].session = at;
    groups_[found->second].scope = operations_[x].scope;
  }
  e.group = found->second;
  group& g = groups_[e.group];
  e.group_next = g.head;
  if (g.head != none) operations_[g.head].external->group_previous = x;
  g.head = x;
  ++g.members;
  if (has_lease(x)) ++g.lengths[e.lease];
  e.is_counted = has_lease(x);
}

void external_leases::leave(index x) {
  own_work_over(x);
  const external_state& e = *operations_[x].external;
  if (e.group == none) return;
  group& g = groups_[e.group];
  if (e.group_previous != none)
    operations_[e.group_previous].external->group_next = e.group_next;
  else
    g.head = e.group_next;
  if (e.group_next != none) operations_[e.group_next].external->group_previous = e.group_previous;
  if (--g.members > 0) return;
  g.session->second.erase(g.scope);
  if (g.session->second.empty()) sessions_.erase(g.session);
  groups_.drop(e.group);
}

void external_leases::own_work_over(index x) {
  external_state& e = *operations_[x].external;
  notified_.erase(operations_[x].seq);
  if (e.group == none) return;
  group& g = groups_[e.group];
  g.notified.erase(operations_[x].seq);
  if (!e.is_counted) return;
  e.is_counted = false;
  const auto length = g.lengths.find(e.lease);
  if (--length->second == 0) g.lengths.erase(length);
}

void external_leases::note_notified(index x) {
  notified_.emplace(operations_[x].seq, x);
  if (const index g = operations_[x].external->group; g != none) groups_[g].notified.emplace(operations_[x].seq, x);
}

bool external_leases::renew(index x, boot_time now) {
  if (!has_lease(x)) return false;
  external_state& e = *operations_[x].external;
  e.lease_until = now + e.lease;
  return true;
}

boot_time external_leases::end_of(index x) const {
  const external_state& e = *operations_[x].external;
  // An operation that came into its group later has a lease that ends later than what the group heard before.
  const boot_time renewed_at = e.group == none ? woke_ : std::max(woke_, groups_[e.group].renewed_at);
  return std::max<boot_time>(e.lease_until, renewed_at + e.lease);
}

void external_leases::notify(index x, milliseconds grace, boot_time now) {
  give_grace(x, grace, now);
  note_notified(x);
}

void external_leases::give_grace(index x, milliseconds grace, boot_time now) {
  external_state& e = *operations_[x].external;
  e.grace = grace;
  e.kill_at = now + grace;
}

namespace {

void oldest_first(external_leases::guarded& found) {
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
}

} // namespace

template <class Visit>
void external_leases::each_group(const std::string& session, const sees_scope& sees, const Visit& visit) const {
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) return;
  for (const auto& [scope, g] : at->second)
    if (sees(scope)) visit(g);
}

external_leases::guarded external_leases::in_session(const std::string& session, const sees_scope& sees) const {
  guarded found;
  each_group(session, sees, [&](index g) {
    for (index x = groups_[g].head; x != none; x = operations_[x].external->group_next)
      found.emplace_back(x, operations_[x].seq);
  });
  oldest_first(found);
  return found;
}

external_leases::guarded external_leases::notified_in(const std::string& session, const sees_scope& sees) const {
  guarded found;
  each_group(session, sees, [&](index g) {
    for (const auto& [seq, x] : groups_[g].notified) found.emplace_back(x, seq);
  });
  oldest_first(found);
  return found;
}

external_leases::renewal external_leases::renew_session(const std::string& session, const sees_scope& sees,
                                                        boot_time now) {
  renewal all;
  each_group(session, sees, [&](index i) {
    group& g = groups_[i];
    g.renewed_at = now;
    all.operations += g.members;
    if (g.lengths.empty()) return;
    const milliseconds shortest = g.lengths.begin()->first;
    all.shortest = std::min(all.shortest.value_or(shortest), shortest);
  });
  return all;
}

std::string external_leases::session_of(index x) const {
  const index g = operations_[x].external->group;
  return g == none ? std::string{} : groups_[g].session->first;
}

void external_leases::check(std::vector<std::string>& broken) const {
  for (index x = 0; x < operations_.end_index(); ++x) {
    const operation_node& n = operations_[x];
    if (n.seq == 0) continue;
    if ((n.external != nullptr) != (n.kind == quell::kind::external))
      broken.push_back("operation " + n.id.text() + " has the state of an external one and is none, or the reverse");
  }
  for (const auto& [seq, x] : notified_) {
    const operation_node& n = operations_[x];
    if (n.seq != seq || !n.external || !n.is_stopped() || n.is_over())
      broken.push_back("the owner of operation " + n.id.text() + " was notified of a stop, and need not be");
  }
  check_groups(broken);
}

void external_leases::check_groups(std::vector<std::string>& broken) const {
  std::map<index, group> expected; // by group: what its members say
  for (index x = 0; x < operations_.end_index(); ++x) {
    const operation_node& n = operations_[x];
    if (n.seq == 0 || !n.external || n.external->group == none) continue;
    group& g = expected[n.external->group];
    ++g.members;
    if (!n.is_over() && has_lease(x)) ++g.lengths[n.external->lease];
    if (notified_.contains(n.seq)) g.notified.emplace(n.seq, x);
  }
  std::size_t kept = 0;
  for (const auto& [session, groups] : sessions_) {
    if (groups.empty()) broken.push_back("session " + session + " is kept for nobody");
    for (const auto& [scope, i] : groups) {
      ++kept;
      const group& g = groups_[i];
      const group& want = expected[i];
      std::uint64_t listed = 0;
      index before = none;
      for (index x = g.head; x != none && listed <= want.members; x = operations_[x].external->group_next) {
        ++listed;
        const auto& e = operations_[x].external;
        if (!e || e->group != i || e->group_previous != before || operations_[x].scope != scope) {
          broken.push_back("session " + session + " lists what is not in it");
          break;
        }
        before = x;
      }
      if (g.session->first != session || g.scope != scope || listed == 0 || listed != want.members ||
          g.members != want.members)
        broken.push_back("session " + session + " does not list each of its operations once");
      if (g.lengths != want.lengths || g.notified != want.notified)
        broken.push_back("session " + session + " miscounts its leases or its stops");
    }
  }
  if (kept != expected.size() || kept != groups_.size()) broken.push_back("a session is kept for nobody");
}

} // namespace quell::controller::live
