// Replaces keys: the workers' own and the controller's.
//
// A worker offers its next key over the session that its present key opened. Once the answer is sent both keys are
// valid, also on disk; the first hello under the offered key ends the other. So at no instant can a crash of the worker
// or the controller leave the worker without an accepted key. Only the state directory that used the present key first
// can offer one: otherwise the holder of a copied join line could lock its worker out for good.
#include <algorithm>

#include "controller/audit.hpp"
#include "controller/fleet/impl.hpp"
#include "protocol/socket.hpp"

namespace quell::controller {

std::string fleet_impl::reason_against_key(member& m, const std::string& key, moment now) {
  if (!is_public_key(key)) return "it is not a public key of 40 characters in Z85";
  if (m.record.state_id != m.record.home_state)
    return "another state directory used the present key first, and only that one may change it; give this worker a "
           "key of its own with `quell worker remove` and `quell worker add`";
  if (const auto holder = by_key_.find(key); holder != by_key_.end() && holder->second != &m)
    return "worker " + holder->second->name() + " has this key";
  if (key != m.record.next_key && !m.key_offers.take(1, now.boot))
    return "the key was changed too often; try again in a minute";
  return {};
}

void fleet_impl::offered(member& m, const std::string& key, moment now) {
  auto refusal = reason_against_key(m, key, now);
  if (refusal.empty() && key != m.record.next_key && key != m.record.public_key) {
    if (!m.record.next_key.empty()) by_key_.erase(m.record.next_key);
    m.record.next_key = key;
    by_key_[key] = &m;
    put(m);
    publish_keys();
  }
  send(m, wire::key_taken{key, std::move(refusal)}, now);
}

void fleet_impl::used_key(member& m, const std::string& key, moment now) {
  if (key == m.record.public_key || key != m.record.next_key) return;
  by_key_.erase(m.record.public_key);
  m.record.public_key = key;
  m.record.next_key.clear();
  m.record.key_changed_at = now.wall;
  publish_keys();
  announce(event_type::worker_key_changed, m, now);
  auto audit = audit_event("worker_key", "worker " + m.name(), {"worker:" + m.name(), m.name()}, "worker", {},
                           "the worker changed its key; the old one is refused from now on");
  audit.at = now.wall;
  audit.worker = m.name();
  ledger_.add_event(std::move(audit), now);
}

void fleet_impl::next_controller_key(const std::string& next, moment now) {
  now_ = now;
  if (next == controller_key_) return;
  controller_key_ = next;
  for (auto& [name, m] : members_) {
    changed(m);
    tell_key(m, now);
  }
}

void fleet_impl::tell_key(member& m, moment now) {
  if (controller_key_.empty() || !m.link || !m.link->greeting.knows_keys || m.record.controller_key == controller_key_)
    return;
  send(m, wire::controller_key{controller_key_}, now);
}

void fleet_impl::stored_key(member& m, const std::string& key, moment) {
  if (key != controller_key_ || key == m.record.controller_key) return;
  m.record.controller_key = key;
  put(m);
  changed(m);
}

} // namespace quell::controller
