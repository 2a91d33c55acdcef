// An admin's orders (enrol, drain, resume, remove), the window size of a task, and the planned stop.
#include <algorithm>

#include "controller/fleet/impl.hpp"

namespace quell::controller {

namespace {

constexpr std::size_t max_name = 64;
constexpr std::size_t key_length = 40; // Z85 of 32 bytes
constexpr std::size_t max_labels = 64;
constexpr std::size_t max_label = 128;
constexpr std::size_t max_reason = 500;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= max_name && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

bool is_key(const std::string& key) {
  return key.size() == key_length && std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; });
}

bool are_labels(const std::map<std::string, std::string>& labels) {
  return labels.size() <= max_labels && std::all_of(labels.begin(), labels.end(), [](const auto& label) {
           return !label.first.empty() && label.first.size() <= max_label && !label.second.empty() &&
                  label.second.size() <= max_label;
         });
}

tl::unexpected<fault> no_such_worker(const std::string& name) {
  return failure(error_code::worker_not_found,
                 "no worker is called " + name + "; `quell worker list` shows those there are");
}

} // namespace

result<worker_view> fleet_impl::enrol(const std::string& name, const std::string& public_key,
                                      std::map<std::string, std::string> labels, moment now) {
  now_ = now;
  if (!is_name(name))
    return failure(error_code::invalid_field, "a worker's name is 1 to 64 of A-Z a-z 0-9 . _ -", "/name");
  if (!is_key(public_key))
    return failure(error_code::invalid_field, "a worker's public key is 40 characters of Z85", "/key");
  if (!are_labels(labels))
    return failure(error_code::invalid_field, "at most 64 labels, key and value of 1 to 128 characters each",
                   "/labels");
  if (find(name))
    return failure(error_code::id_conflict,
                   "a worker called " + name + " is enrolled already; choose another name, or remove it first",
                   "/name");
  if (const auto holder = by_key_.find(public_key); holder != by_key_.end())
    return failure(error_code::id_conflict, "this key is enrolled already, for worker " + holder->second->name(),
                   "/key");
  if (members_.size() >= settings_.max_workers)
    return failure(error_code::invalid_field,
                   "there are " + std::to_string(members_.size()) +
                       " workers, the most that are allowed; remove one first",
                   "/name");
  member& m = members_[name];
  m.record.name = name;
  m.record.public_key = public_key;
  m.record.enrolled_labels = std::move(labels);
  m.record.enrolled_at = now.wall;
  m.merge_labels();
  by_key_[public_key] = &m;
  put(m);
  changed(m);
  publish_keys();
  placement_.roster_changed();
  return view(m, now);
}

result<worker_view> fleet_impl::drain(const std::string& name, const std::string& reason,
                                      std::optional<milliseconds> deadline, worker_tasks tasks, moment now,
                                      std::optional<records::person> by) {
  now_ = now;
  member* m = find(name);
  if (!m) return no_such_worker(name);
  if (reason.size() > max_reason)
    return failure(error_code::invalid_field, "a reason has at most 500 bytes", "/reason");
  records::drain_state state = m->record.drain.value_or(records::drain_state{now.wall, {}, {}});
  state.reason = reason;
  if (by) state.by = std::move(by);
  state.deadline_at.reset();
  m->drain_at.reset();
  if (deadline && *deadline > milliseconds{0}) {
    state.deadline_at = now.wall + *deadline;
    m->drain_at = now.boot + *deadline;
  }
  m->record.drain = std::move(state);
  put(*m);
  placement_.roster_changed();
  announce(event_type::worker_draining, *m, now);
  if (tasks == worker_tasks::are_cancelled) {
    m->drain_at.reset();
    stop_drained(*m, now);
  }
  return view(*m, now);
}

result<worker_view> fleet_impl::resume(const std::string& name, moment now) {
  now_ = now;
  member* m = find(name);
  if (!m) return no_such_worker(name);
  if (m->leaving)
    return failure(error_code::worker_busy,
                   "worker " + name + " is being removed; it goes when its last task has ended");
  if (!m->record.drain) return view(*m, now);
  m->record.drain.reset();
  m->drain_at.reset();
  put(*m);
  changed(*m);
  placement_.roster_changed();
  return view(*m, now);
}

void fleet_impl::stop_drained(member& m, moment now) {
  const auto& drain = m.record.drain;
  if (drain && drain->by)
    ledger_.stop_worker_for(m.name(), stop_cause::drain, {drain->reason, *drain->by}, now);
  else
    ledger_.stop_worker(m.name(), stop_cause::drain, now);
}

result<worker_view> fleet_impl::remove(const std::string& name, worker_tasks tasks, moment now,
                                       std::optional<records::person> by) {
  now_ = now;
  member* m = find(name);
  if (!m) return no_such_worker(name);
  const auto live = ledger_.live_on(name);
  if (live == 0) {
    const worker_view last = view(*m, now);
    drop(*m, now);
    return last;
  }
  if (tasks == worker_tasks::go_on && !m->record.lost)
    return failure(error_code::worker_busy, std::to_string(live) + " operations live on worker " + name +
                                                "; drain it first, or remove it with cancel=true");
  const bool again = std::exchange(m->leaving, true);
  if (!m->record.drain) { // the drain is in the row: after a restart nothing new goes there either
    m->record.drain = records::drain_state{now.wall, "the worker is removed", {}, std::move(by)};
    put(*m);
  }
  placement_.roster_changed();
  if (!again) announce(event_type::worker_draining, *m, now);
  // The work of a lost host gets no stop: it is dead by rule when its lease is over, and settles then.
  if (tasks == worker_tasks::are_cancelled) stop_drained(*m, now);
  const worker_view last = view(*m, now);
  tidy_leaving(now);
  return last;
}

result<void> fleet_impl::resize(const operation_id& id, const std::string& worker, std::uint16_t rows,
                                std::uint16_t columns, moment now) {
  now_ = now;
  if (rows == 0 || columns == 0)
    return failure(error_code::invalid_field, "a window has at least one row and one column",
                   rows == 0 ? "/rows" : "/columns");
  member* m = find(worker);
  if (!m) return no_such_worker(worker);
  if (!m->reachable())
    return failure(error_code::not_ready, "worker " + worker + " is " + std::string(name_of(m->status())) +
                                              "; nothing was done, try again later");
  send(*m, wire::resize{id, rows, columns}, now);
  return {};
}

// From here on no worker gets a welcome, a grant or work: each of these would leave it with less than the handover.
void fleet_impl::hand_over(moment now) {
  now_ = now;
  handing_over_ = true;
  for (auto& [name, m] : members_) {
    if (!m.link) continue;
    if (m.record.lease < settings_.handover_lease) {
      m.record.lease = settings_.handover_lease;
      put(m); // in the same transaction: it is on disk before the frame leaves
    }
    send(m, wire::handover{settings_.handover_lease}, now);
    m.lease.answered(now.boot, settings_.handover_lease);
    m.lease_end = now.boot + settings_.handover_lease;
  }
}

} // namespace quell::controller
