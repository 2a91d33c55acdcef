// The fleet's construction, its effects, and shared helpers: rows, events, keys.
#include "controller/fleet.hpp"

#include <algorithm>

#include "controller/cluster_json.hpp"
#include "controller/fleet/impl.hpp"
#include "protocol/refusal_code.hpp"

namespace quell::controller {

namespace {
constexpr std::size_t max_results_per_frame = 10'000;
} // namespace

bool fleet_effects::empty() const {
  return journal.empty() && ordered.empty() && urgent.empty() && !allowed_keys && workers_changed.empty();
}

std::unique_ptr<fleet> fleet::make(fleet_settings s, ledger& l, std::vector<records::worker_record> recovered,
                                   cluster_id cluster, std::uint64_t epoch,
                                   std::function<std::string(const operation_id&)> token_for, moment now) {
  return std::make_unique<fleet_impl>(s, l, std::move(recovered), cluster, epoch, std::move(token_for), now);
}

fleet_impl::fleet_impl(fleet_settings s, ledger& l, std::vector<records::worker_record> recovered, cluster_id cluster,
                       std::uint64_t epoch, std::function<std::string(const operation_id&)> token_for, moment now)
    : settings_(s), ledger_(l), cluster_(cluster), epoch_(epoch), token_for_(std::move(token_for)), now_(now) {
  for (auto& record : recovered) {
    member& m = members_[record.name];
    m.record = std::move(record);
    m.merge_labels();
    by_key_[m.record.public_key] = &m;
    if (!m.record.next_key.empty()) by_key_[m.record.next_key] = &m;
    if (m.record.lease > milliseconds{0}) {
      // The previous life sent answers at an unknown time: the lease counts from now, and the worker is silent until it
      // says hello.
      m.lease = controller_lease::recovered(now.boot, m.record.lease);
      m.lease_end = now.boot + m.record.lease;
      m.silent_since = m.record.lost ? m.record.last_heard_at.value_or(now.wall) : now.wall;
      m.is_silence_reported = m.record.lost;
      m.last_frame_at = now.boot;
    }
    if (m.record.drain && m.record.drain->deadline_at)
      m.drain_at = now.boot + (*m.record.drain->deadline_at - now.wall);
  }
  publish_keys();
}

fleet_effects fleet_impl::take() {
  for (member* m : std::exchange(touched_, {})) {
    m->touched = false;
    flush_stored(*m);
    flush_acknowledgement(*m);
  }
  auto& names = effects_.workers_changed;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return std::exchange(effects_, {});
}

void fleet_impl::flush_stored(member& m) {
  auto ids = std::exchange(m.stored, {});
  if (!m.link) return; // the next hello brings those results again
  for (std::size_t at = 0; at < ids.size() && m.link; at += max_results_per_frame) {
    const auto end = std::min(at + max_results_per_frame, ids.size());
    send(m,
         wire::results_stored{
             {ids.begin() + static_cast<std::ptrdiff_t>(at), ids.begin() + static_cast<std::ptrdiff_t>(end)}},
         now_);
  }
}

// One acknowledgement for a burst of frames; none if a frame of this transaction already carries it, or one that
// follows soon will. Urgent: it means only that the frames arrived here; the worker keeps results until they are
// stored.
void fleet_impl::flush_acknowledgement(member& m) {
  if (!m.link) return;
  session& s = *m.link;
  if (!s.ack_due && !s.gap_seen) return;
  const bool resend = std::exchange(s.gap_seen, false);
  effects_.urgent.push_back({s.route, envelope_for(m, 0, wire::acknowledge{resend})});
}

member* fleet_impl::find(const std::string& name) {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

const member* fleet_impl::find(const std::string& name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

void fleet_impl::touch(member& m) {
  if (std::exchange(m.touched, true)) return;
  touched_.push_back(&m);
}

void fleet_impl::refresh_load(member& m) {
  m.used = ledger_.slots_on(m.name());
  m.live = ledger_.live_on(m.name());
}

void fleet_impl::put(const member& m) { effects_.journal.emplace_back(records::put_worker{m.record}); }

void fleet_impl::changed(const member& m) {
  if (effects_.workers_changed.empty() || effects_.workers_changed.back() != m.name())
    effects_.workers_changed.push_back(m.name());
}

void fleet_impl::announce(event_type type, const member& m, moment now) {
  records::event_record e;
  e.type = type;
  e.at = now.wall;
  e.worker = m.name();
  http::json_writer json;
  http::write_worker(json, view(m, now));
  e.data = json.take();
  ledger_.add_event(std::move(e), now);
  changed(m);
}

void fleet_impl::publish_keys() {
  std::vector<std::string> keys;
  keys.reserve(by_key_.size());
  for (const auto& [key, m] : by_key_) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  effects_.allowed_keys = std::move(keys);
}

// Ends an enrolment: frames addressed to the worker from now on have no receiver.
void fleet_impl::drop(member& m, moment now) {
  if (m.link) {
    flush_stored(m);
    const wire::refuse bye =
        refusal_of(refusal_code::removed,
                   "worker " + m.name() + " was removed from this cluster; enrol it again to use it", milliseconds{0});
    if (m.link) effects_.ordered.push_back({m.link->route, envelope_for(m, 0, bye)});
    end_session(m);
  }
  announce(event_type::worker_removed, m, now);
  effects_.journal.emplace_back(records::drop_worker{m.name()});
  placement_.roster_changed(&m);
  std::erase(touched_, &m);
  by_key_.erase(m.record.public_key);
  by_key_.erase(m.record.next_key);
  publish_keys();
  members_.erase(members_.find(m.name()));
}

// ---- from the ledger ----------------------------------------------------------------------------------------------

void fleet_impl::enqueue(const requirement& need, const std::vector<operation_id>& ids) {
  placement_.enqueue(need, ids);
}

void fleet_impl::send_stop(const stop_order& order, moment now) {
  now_ = now;
  for (const auto& name : order.workers)
    if (member* m = find(name); m && m->link)
      send(*m, order.message, now); // without a session: its next reconcile sends it again
}

void fleet_impl::slots_freed(const std::string& worker, std::uint32_t, moment now) {
  now_ = now;
  member* m = find(worker);
  if (!m) return;
  refresh_load(*m);
  changed(*m);
  placement_.capacity_changed();
}

void fleet_impl::result_stored(const std::string& worker, const operation_id& id, moment now) {
  now_ = now;
  member* m = find(worker);
  if (!m || !m->link) return;
  m->stored.push_back(id);
  touch(*m);
}

void fleet_impl::frame_left(const std::string& route, std::uint64_t number, moment now) {
  reported_departures_ = true;
  const auto found = by_route_.find(route);
  if (found != by_route_.end() && found->second->link) found->second->link->departed(number, now.boot);
}

void fleet_impl::frame_withheld(const std::string& route, moment now) {
  now_ = now;
  const auto found = by_route_.find(route);
  if (found != by_route_.end())
    break_session(*found->second, "the controller could not write to its disk; say hello again", now);
}

bool fleet_impl::place(moment now) {
  now_ = now;
  if (handing_over_) return false;
  return placement_.place(now, [&](member& m, wire::start order) {
    order.token = token_for_(order.operation);
    changed(m);
    send(m, std::move(order), now);
  });
}

} // namespace quell::controller
