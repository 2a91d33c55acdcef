// Views of the fleet: workers, reachability for the ledger, holders of keys and connections.
#include <memory>

#include "controller/fleet/impl.hpp"

namespace quell::controller {

// The two clocks are read one after the other, and the wall clock only in milliseconds: each moment converts a little
// differently.
wall_time fleet_impl::shown(boot_time at, moment now) const {
  constexpr milliseconds noise{50};
  const auto off = now.wall - shown_from_.wall_at(now.boot);
  if (off > noise || off < -noise) shown_from_ = now;
  return shown_from_.wall_at(at);
}

worker_view fleet_impl::view(const member& m, moment now) const {
  worker_view v;
  v.record = m.record;
  v.record.labels = m.labels;
  v.status = m.status();
  v.slots_used = ledger_.slots_on(m.name());
  v.operations_live = ledger_.live_on(m.name());
  if (m.lease_end) v.lease_expires_at = shown(*m.lease_end, now);
  v.unreachable_since = m.silent_since;
  v.trouble = m.trouble;
  v.rival = m.rival;
  if (!controller_key_.empty()) v.knows_controller_key = m.record.controller_key == controller_key_;
  if (const auto dead_by = m.lease.dead_by(); dead_by && m.silent_since) v.dead_by = shown(*dead_by, now);
  return v;
}

std::optional<worker_view> fleet_impl::worker(const std::string& name, moment now) const {
  const member* m = find(name);
  if (!m) return std::nullopt;
  return view(*m, now);
}

std::vector<worker_view> fleet_impl::workers(moment now) const {
  std::vector<worker_view> all;
  all.reserve(members_.size());
  for (const auto& [name, m] : members_) all.push_back(view(m, now));
  return all;
}

reachability fleet_impl::reach(const std::string& worker) const {
  const member* m = find(worker);
  reachability r;
  r.reachable = m && m->reachable();
  if (!m) {
    r.dead_by = [](std::optional<milliseconds>) { return std::optional<wall_time>{}; };
    return r;
  }
  r.since = m->silent_since;
  r.dead_by = [this, lease = m->lease](std::optional<milliseconds> task_lease) -> std::optional<wall_time> {
    const auto end = lease.dead_by(task_lease);
    if (!end) return std::nullopt;
    return shown(*end, now_);
  };
  return r;
}

bool fleet_impl::knows(const std::string& worker) const { return find(worker) != nullptr; }

std::optional<session_id> fleet_impl::session_of_key(const std::string& public_key) const {
  const auto found = by_key_.find(public_key);
  if (found == by_key_.end() || !found->second->link) return std::nullopt;
  return found->second->link->id;
}

std::optional<std::string> fleet_impl::name_of_key(const std::string& public_key) const {
  const auto found = by_key_.find(public_key);
  if (found == by_key_.end()) return std::nullopt;
  return found->second->name();
}

std::optional<std::string> fleet_impl::name_of_route(const std::string& route) const {
  const auto found = by_route_.find(route);
  if (found == by_route_.end()) return std::nullopt;
  return found->second->name();
}

} // namespace quell::controller
