// One entry for each workspace. A change during a read makes its result stale at once, but still the newest one.
#include "actors/turns/project_memory.hpp"

#include <utility>

namespace quell::controller::turns {
namespace {

constexpr std::size_t most_remembered = 4'096, most_remembered_bytes = 16 << 20, most_waiting = 10'000;

} // namespace

project_memory::answer project_memory::ask(const project_place& where, boot_time now, milliseconds wait_at_most,
                                           listener then) {
  const std::lock_guard lock(guard_);
  if (entries_.size() >= most_remembered && !entries_.contains(where.key)) make_room();
  auto& e = entries_[where.key];
  const bool is_same = e.variant == where.variant;
  if (e.is_reading) {
    const bool is_late = now - e.begun_at >= wait_at_most || e.waiting.size() >= most_waiting;
    if (!is_same || is_late) return {answer::kind::known, is_same ? e.value : nullptr};
    e.waiting.push_back(std::move(then));
    return {answer::kind::waits, nullptr};
  }
  if (is_same && e.is_fresh && now < e.fresh_until) return {answer::kind::known, e.value};
  if (!is_same) {
    if (e.value) bytes_ -= e.value->bytes();
    e.value = nullptr;
    e.variant = where.variant;
  }
  e.is_reading = true;
  e.has_changed = false;
  e.begun_at = now;
  e.waiting.push_back(std::move(then));
  return {answer::kind::to_read, nullptr};
}

void project_memory::done(const project_place& where, boot_time fresh_until, notes read) {
  std::vector<listener> waiting;
  notes value;
  {
    const std::lock_guard lock(guard_);
    const auto at = entries_.find(where.key);
    if (at == entries_.end()) return;
    auto& e = at->second;
    if (read) {
      if (e.value) bytes_ -= e.value->bytes();
      bytes_ += read->bytes();
      e.value = std::move(read);
    }
    value = e.value;
    e.is_reading = false;
    e.is_fresh = !e.has_changed;
    e.fresh_until = fresh_until;
    waiting.swap(e.waiting);
    if (bytes_ > most_remembered_bytes) make_room();
  }
  for (const auto& then : waiting) then(value);
}

project_memory::notes project_memory::last(const project_place& where) const {
  const std::lock_guard lock(guard_);
  const auto at = entries_.find(where.key);
  return at != entries_.end() && at->second.variant == where.variant ? at->second.value : nullptr;
}

void project_memory::changed(const std::string& key) {
  const std::lock_guard lock(guard_);
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  at->second.is_fresh = false;
  at->second.has_changed = true;
}

std::size_t project_memory::bytes() const {
  const std::lock_guard lock(guard_);
  return bytes_;
}

/// Under the lock.
void project_memory::make_room() {
  for (auto at = entries_.begin(); at != entries_.end();) {
    if (at->second.is_reading) {
      ++at;
      continue;
    }
    if (at->second.value) bytes_ -= at->second.value->bytes();
    at = entries_.erase(at);
  }
}

} // namespace quell::controller::turns
