// The kinds take turns in a circle; one of which nothing is due is passed over.
#include "worker/workspace_turns.hpp"

#include <algorithm>

namespace quell::worker {

namespace {
constexpr int sweeping = 0, of_ended = 1; // and 2: of those in which tasks run
} // namespace

void workspace_turns::look_at(const std::string& name, time at) {
  look_no_more(name);
  looks_.emplace(at, name);
  looks_of_.emplace(name, at);
}

void workspace_turns::look_no_more(const std::string& name) {
  const auto at = looks_of_.find(name);
  if (at == looks_of_.end()) return;
  looks_.erase({at->second, name});
  looks_of_.erase(at);
}

void workspace_turns::forget(const std::string& name) {
  ended_.erase(name);
  look_no_more(name);
}

void workspace_turns::sweep_at(time at) {
  at = std::max(at, no_sweep_before_);
  sweep_ = std::min(sweep_.value_or(at), at);
}

void workspace_turns::swept(time began, time over, time next) {
  no_sweep_before_ = over + std::max<duration>(shortest_pause, rest_factor * (over - began));
  // A task can have ended meanwhile, in a workspace that the sweep had seen before.
  sweep_ = std::max(std::min(sweep_.value_or(next), next), no_sweep_before_);
}

bool workspace_turns::is_due(int kind, time now) const {
  if (kind == sweeping) return sweep_ && *sweep_ <= now;
  if (kind == of_ended) return !ended_.empty();
  return !looks_.empty() && looks_.begin()->first <= now;
}

workspace_turns::turn workspace_turns::take(int kind) {
  if (kind == sweeping) {
    sweep_.reset();
    return {turn::kind::sweep, {}};
  }
  std::string name;
  if (kind == of_ended) {
    auto at = ended_.upper_bound(ended_last_);
    if (at == ended_.end()) at = ended_.begin();
    name = ended_last_ = *at;
  } else {
    name = looks_.begin()->second;
  }
  forget(name);
  return {turn::kind::measure, std::move(name)};
}

workspace_turns::turn workspace_turns::next(time now) {
  for (int i = 1; i <= kinds; ++i) {
    const int kind = (last_ + i) % kinds;
    if (!is_due(kind, now)) continue;
    last_ = kind;
    return take(kind);
  }
  turn wait;
  if (!looks_.empty()) wait.until = looks_.begin()->first;
  if (sweep_) wait.until = std::min(wait.until.value_or(*sweep_), *sweep_);
  return wait;
}

} // namespace quell::worker
