// Time: silence, lease ends, drain deadlines, resends.
#include <algorithm>

#include "controller/fleet/impl.hpp"

namespace quell::controller {

namespace {
constexpr int silent_after_heartbeats = 3;
} // namespace

std::optional<boot_time> fleet_impl::tick(moment now) {
  now_ = now;
  std::optional<boot_time> next;
  for (auto& [name, m] : members_) {
    if (m.drain_at && *m.drain_at <= now.boot) {
      m.drain_at.reset();
      stop_drained(m, now);
    }
    expire(m, now);
    const bool silent = m.last_frame_at && now.boot - *m.last_frame_at >= silent_after_heartbeats * settings_.heartbeat;
    if (silent && !m.is_silence_reported && !m.record.lost) became_silent(m, now);
    if (m.link && m.link->owes(reported_departures_)) send_again(m, channel_sender::resend_cause::time_passed, now);
    if (const auto wake = next_wake(m)) next = next ? std::min(*next, *wake) : *wake;
  }
  if (tidy_leaving(now)) {
    const auto soon = now.boot + settings_.heartbeat;
    next = next ? std::min(*next, soon) : soon;
  }
  return next;
}

std::optional<boot_time> fleet_impl::next_wake(const member& m) const {
  std::optional<boot_time> next = m.drain_at;
  const auto at = [&next](std::optional<boot_time> t) {
    if (t) next = next ? std::min(*next, *t) : *t;
  };
  if (m.last_frame_at && !m.is_silence_reported) at(*m.last_frame_at + silent_after_heartbeats * settings_.heartbeat);
  if (m.link && m.link->owes(reported_departures_)) at(m.link->sender.next_resend());
  if (!m.expired_all) at(m.expiry ? m.expiry : m.lease.dead_by());
  return next;
}

void fleet_impl::on_frame(member& m, moment now) {
  m.last_frame_at = now.boot;
  m.record.last_heard_at = now.wall;
  if (!m.silent_since) return;
  m.silent_since.reset();
  m.is_silence_reported = false;
  placement_.roster_changed();
  ledger_.reachability_changed(m.name(), now);
  announce(event_type::worker_joined, m, now); // it is back
}

// Places nothing new there; its present work lives on until the dead-by instant.
void fleet_impl::became_silent(member& m, moment now) {
  if (!m.silent_since) m.silent_since = m.link ? now.wall_at(*m.last_frame_at) : now.wall;
  m.is_silence_reported = true;
  put(m);
  placement_.roster_changed();
  announce(event_type::worker_unreachable, m, now);
  ledger_.reachability_changed(m.name(), now);
}

// Once the lease is over, everything there is dead by rule; a task with a longer lease of its own dies when that is
// due.
void fleet_impl::expire(member& m, moment now) {
  const auto dead_by = m.lease.dead_by();
  if (!dead_by || *dead_by > now.boot || m.expired_all) return;
  if (m.expiry && *m.expiry > now.boot) return;
  if (!m.record.lost) {
    if (m.link) {
      // Silent, or it sends heartbeats but applies nothing. If it is alive after all, it has killed its tasks and says
      // hello.
      refuse(m.link->route, m.link->id, {"session_over", "the lease is over; say hello again", milliseconds{100}});
      if (!m.silent_since) m.silent_since = now.wall_at(*m.last_frame_at);
      end_session(m);
    }
    m.record.lost = m.is_silence_reported = true;
    put(m);
    announce(event_type::worker_lost, m, now);
    ledger_.reachability_changed(m.name(), now);
  }
  const auto next = ledger_.lease_expired(
      m.name(),
      [&m](std::optional<milliseconds> task_lease) { return m.lease.dead_by(task_lease).value_or(boot_time{}); }, now);
  refresh_load(m);
  changed(m);
  m.expiry = next;
  m.expired_all = !next;
}

// Removes workers that were to leave with live work once none of it is left. True while some still wait.
bool fleet_impl::tidy_leaving(moment now) {
  bool waiting = false;
  for (auto at = members_.begin(); at != members_.end();) {
    member& m = (at++)->second;
    if (!m.leaving) continue;
    if (ledger_.live_on(m.name()) == 0)
      drop(m, now);
    else
      waiting = true;
  }
  return waiting;
}

} // namespace quell::controller
