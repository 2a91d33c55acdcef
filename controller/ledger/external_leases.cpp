// Lists of the external operations of a session; the end of a lease.
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
  if (!spec.session.empty()) enter_session(x, spec.session, r.scope);
}

void external_leases::enter_session(index x, const std::string& name, const scope_path& scope) {
  const operation_node& n = operations_[x];
  external_state& e = *n.external;
  e.session = sessions_.hold(name);
  if (e.session >= states_.size()) states_.resize(e.session + 1);
  session_state& s = states_[e.session];
  const index parent = n.parent;
  const std::uint64_t parent_seq = parent == none ? 0 : operations_[parent].seq;
  if (s.head == none) {
    s.scope = scope;
    s.parent = parent;
    s.parent_seq = parent_seq;
  } else {
    while (s.scope && !scope.is_at_or_below(*s.scope)) s.scope = s.scope->parent();
    if (s.parent != parent || s.parent_seq != parent_seq) s.parent = none;
    operations_[s.head].external->session_previous = x;
  }
  e.session_next = s.head;
  s.head = x;
  if (!has_lease(x)) return;
  ++s.leases[e.lease];
  e.is_counted = true;
}

void external_leases::leave(index x) {
  work_is_over(x);
  const external_state& e = *operations_[x].external;
  if (e.session == none) return;
  session_state& s = states_[e.session];
  if (e.session_previous != none)
    operations_[e.session_previous].external->session_next = e.session_next;
  else
    s.head = e.session_next;
  if (e.session_next != none) operations_[e.session_next].external->session_previous = e.session_previous;
  if (s.head == none) s = {};
  sessions_.release(e.session);
}

external_leases::session_state* external_leases::state_of(index x) {
  const index s = operations_[x].external->session;
  return s == none ? nullptr : &states_[s];
}

void external_leases::note_notified(index x) {
  const std::uint64_t seq = operations_[x].seq;
  notified_.emplace(seq, x);
  if (session_state* s = state_of(x)) s->notified.emplace(seq, x);
}

void external_leases::work_is_over(index x) {
  const std::uint64_t seq = operations_[x].seq;
  notified_.erase(seq);
  session_state* s = state_of(x);
  if (s == nullptr) return;
  s->notified.erase(seq);
  external_state& e = *operations_[x].external;
  if (!e.is_counted) return;
  e.is_counted = false;
  const auto at = s->leases.find(e.lease);
  if (--at->second == 0) s->leases.erase(at);
}

bool external_leases::renew(index x, boot_time now) {
  if (!has_lease(x)) return false;
  external_state& e = *operations_[x].external;
  e.lease_until = now + e.lease;
  return true;
}

boot_time external_leases::end_of(index x) const {
  const external_state& e = *operations_[x].external;
  const boot_time latest = e.session == none ? woke_ : std::max(woke_, states_[e.session].renewed);
  return std::max<boot_time>(e.lease_until, latest + e.lease);
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

external_leases::guarded external_leases::in_session(const std::string& session) const {
  guarded found;
  const index s = sessions_.find(session);
  if (s == none) return found;
  for (index x = states_[s].head; x != none; x = operations_[x].external->session_next)
    found.emplace_back(x, operations_[x].seq);
  std::reverse(found.begin(), found.end());
  return found;
}

std::string external_leases::session_of(index x) const {
  const index session = operations_[x].external->session;
  return session == none ? std::string{} : sessions_[session];
}

std::optional<milliseconds> external_leases::shortest_lease(index session) const {
  const auto& leases = states_[session].leases;
  return leases.empty() ? std::nullopt : std::optional(leases.begin()->first);
}

index external_leases::parent_of_all(index session) const {
  const auto& s = states_[session];
  return s.parent != none && operations_.is_same(s.parent, s.parent_seq) ? s.parent : none;
}

void external_leases::check(std::vector<std::string>& broken) const {
  std::map<index, std::uint64_t> in_sessions;
  for (index x = 0; x < operations_.end_index(); ++x) {
    const operation_node& n = operations_[x];
    if (n.seq == 0) continue;
    if ((n.external != nullptr) != (n.kind == quell::kind::external))
      broken.push_back("operation " + n.id.text() + " has the state of an external one and is none, or the reverse");
    if (n.external && n.external->session != none) ++in_sessions[n.external->session];
  }
  if (in_sessions.size() != sessions_.size()) broken.push_back("a session is kept for nobody");
  for (const auto& [session, members] : in_sessions) {
    check_session(session, members, broken);
  }
  for (const auto& [seq, x] : notified_) {
    const operation_node& n = operations_[x];
    if (n.seq != seq || !n.external || !n.is_stopped() || n.is_over())
      broken.push_back("the owner of operation " + n.id.text() + " was notified of a stop, and need not be");
  }
}

void external_leases::check_session(index name, std::uint64_t members, std::vector<std::string>& broken) const {
  const session_state& s = states_[name];
  const std::string what = "session " + sessions_[name];
  std::uint64_t listed = 0;
  std::map<milliseconds, std::uint32_t> leases;
  index before = none;
  for (index x = s.head; x != none && listed <= members; x = operations_[x].external->session_next) {
    ++listed;
    const operation_node& n = operations_[x];
    const auto& e = n.external;
    if (!e || e->session != name || e->session_previous != before) {
      broken.push_back(what + " lists what is not in it");
      break;
    }
    if (!n.is_over() && has_lease(x)) ++leases[e->lease];
    if (notified_.contains(n.seq) != s.notified.contains(n.seq))
      broken.push_back(what + " does not know which owners were notified");
    if (s.parent != none && operations_.is_same(s.parent, s.parent_seq) && n.parent != s.parent)
      broken.push_back(what + " has operations below another parent");
    before = x;
  }
  if (listed != members || sessions_.holders(name) != members)
    broken.push_back(what + " does not list each of its operations once");
  if (leases != s.leases) broken.push_back(what + " miscounts its leases");
}

} // namespace quell::controller::live
