// A table behind a lock; no callback runs while the lock is held.
#include "actors/turns/registry.hpp"

namespace quell::controller::turns {

actors::abort_reason abort_reason_of(stop_cause cause) {
  switch (cause) {
  case stop_cause::timeout:
    return actors::abort_reason::timeout;
  case stop_cause::parent_ended:
    return actors::abort_reason::parent;
  case stop_cause::superseded:
    return actors::abort_reason::superseded;
  case stop_cause::disconnect:
    return actors::abort_reason::disconnect;
  case stop_cause::budget:
    return actors::abort_reason::budget;
  default:
    return actors::abort_reason::user;
  }
}

/// The replaced entry is destroyed without the lock: it can hold the last handle to work that comes back here.
void operation_registry::put(const operation_id& id, entry what) {
  const std::lock_guard lock(guard_);
  std::swap(entries_[id], what);
}

void operation_registry::add_agent(const operation_id& id, std::shared_ptr<actors::agent_handle> agent) {
  put(id, {entry::part::itself, std::move(agent), {}, {}});
}

void operation_registry::add_call(const operation_id& id, std::shared_ptr<actors::agent_handle> of, call_of what,
                                  std::weak_ptr<actors::agent_port> port) {
  put(id, {what == call_of::model ? entry::part::model_call : entry::part::call, std::move(of), {}, std::move(port)});
}

void operation_registry::add_watcher(const operation_id& id, std::shared_ptr<operation_watcher> watcher) {
  put(id, {entry::part::watched, {}, std::move(watcher), {}});
}

void operation_registry::drop(const operation_id& id) {
  decltype(entries_)::node_type gone; // destroyed without the lock
  const std::lock_guard lock(guard_);
  gone = entries_.extract(id);
}

operation_registry::entry operation_registry::find(const operation_id& id) const {
  const std::lock_guard lock(guard_);
  const auto at = entries_.find(id);
  return at == entries_.end() ? entry{} : at->second;
}

std::shared_ptr<actors::agent_handle> operation_registry::agent(const operation_id& id) const {
  const auto known = find(id);
  return known.what == entry::part::itself ? known.agent : nullptr;
}

std::shared_ptr<actors::agent_handle> operation_registry::agent_of_call(const operation_id& id) const {
  const auto known = find(id);
  return known.what == entry::part::call ? known.agent : nullptr;
}

std::shared_ptr<actors::agent_port> operation_registry::port_of_call(const operation_id& id) const {
  const auto known = find(id);
  return known.what == entry::part::call ? known.port.lock() : nullptr;
}

void operation_registry::signal(const actor_signal& s) {
  const auto known = find(s.operation);
  if (!known.agent) return;
  if (known.what == entry::part::call)
    known.agent->stop_call(s.operation, s.reason);
  else
    known.agent->stop(abort_reason_of(s.cause), s.reason); // a turn cannot continue without its model call
}

void operation_registry::started(const operation_id& id, const std::string& worker) {
  if (const auto known = find(id); known.watcher) known.watcher->started(worker);
}

void operation_registry::ended(const ended_operation& e) {
  const auto known = find(e.id);
  if (known.watcher) known.watcher->ended(e);
  // A call that was stopped before it began: its agent has not been notified yet.
  if (known.what == entry::part::call && e.as == status::cancelled) known.agent->stop_call(e.id, {});
  drop(e.id);
}

void operation_registry::forget_all() {
  std::unordered_map<operation_id, entry> gone;
  {
    const std::lock_guard lock(guard_);
    gone.swap(entries_);
  }
}

std::vector<std::shared_ptr<actors::agent_handle>> operation_registry::agents() const {
  std::vector<std::shared_ptr<actors::agent_handle>> all;
  const std::lock_guard lock(guard_);
  for (const auto& [id, known] : entries_)
    if (known.what == entry::part::itself) all.push_back(known.agent);
  return all;
}

} // namespace quell::controller::turns
