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
  if (spec.session.empty()) return;
  e.session = sessions_.hold(spec.session);
  if (e.session >= session_heads_.size()) session_heads_.resize(e.session + 1, none);
  index& head = session_heads_[e.session];
  e.session_next = head;
  if (head != none) operations_[head].external->session_previous = x;
  head = x;
}

void external_leases::leave(index x) {
  const external_state& e = *operations_[x].external;
  notified_.erase(operations_[x].seq);
  if (e.session == none) return;
  if (e.session_previous != none)
    operations_[e.session_previous].external->session_next = e.session_next;
  else
    session_heads_[e.session] = e.session_next;
  if (e.session_next != none) operations_[e.session_next].external->session_previous = e.session_previous;
  sessions_.release(e.session);
}

bool external_leases::renew(index x, boot_time now) {
  if (!has_lease(x)) return false;
  external_state& e = *operations_[x].external;
  e.lease_until = now + e.lease;
  return true;
}

boot_time external_leases::end_of(index x) const {
  const external_state& e = *operations_[x].external;
  return std::max<boot_time>(e.lease_until, woke_ + e.lease);
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
  for (index x = session_heads_[s]; x != none; x = operations_[x].external->session_next)
    found.emplace_back(x, operations_[x].seq);
  std::reverse(found.begin(), found.end());
  return found;
}

std::string external_leases::session_of(index x) const {
  const index session = operations_[x].external->session;
  return session == none ? std::string{} : sessions_[session];
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
    std::uint64_t listed = 0;
    index before = none;
    for (index x = session_heads_[session]; x != none && listed <= members; x = operations_[x].external->session_next) {
      ++listed;
      const auto& e = operations_[x].external;
      if (!e || e->session != session || e->session_previous != before) {
        broken.push_back("session " + sessions_[session] + " lists what is not in it");
        break;
      }
      before = x;
    }
    if (listed != members || sessions_.holders(session) != members)
      broken.push_back("session " + sessions_[session] + " does not list each of its operations once");
  }
  for (const auto& [seq, x] : notified_) {
    const operation_node& n = operations_[x];
    if (n.seq != seq || !n.external || !n.is_stopped() || n.is_over())
      broken.push_back("the owner of operation " + n.id.text() + " was notified of a stop, and need not be");
  }
}

} // namespace quell::controller::live
