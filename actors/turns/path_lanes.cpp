// No callback runs while the lock is held.
#include "actors/turns/path_lanes.hpp"

#include <algorithm>

namespace quell::controller::turns {

path_lanes::place::~place() {
  if (const auto lanes = lanes_.lock()) lanes->leave(path_, number_);
}

void path_lanes::place::when_first(std::function<void()> then) {
  if (const auto lanes = lanes_.lock()) lanes->wait(path_, number_, std::move(then));
}

std::shared_ptr<path_lanes::place> path_lanes::join(const std::string& path) {
  const std::lock_guard lock(guard_);
  lanes_[path].push_back({++last_, {}});
  return std::make_shared<place>(weak_from_this(), path, last_);
}

void path_lanes::wait(const std::string& path, std::uint64_t number, std::function<void()> then) {
  {
    const std::lock_guard lock(guard_);
    auto& lane = lanes_.at(path); // this place is held, so the lane exists
    if (lane.front().number != number) {
      const auto own = std::find_if(lane.begin(), lane.end(), [&](const waiting& w) { return w.number == number; });
      own->then = std::move(then);
      return;
    }
  }
  then();
}

void path_lanes::leave(const std::string& path, std::uint64_t number) {
  std::function<void()> next, dropped;
  {
    const std::lock_guard lock(guard_);
    const auto at = lanes_.find(path);
    auto& lane = at->second;
    const auto own = std::find_if(lane.begin(), lane.end(), [&](const waiting& w) { return w.number == number; });
    const bool was_first = own == lane.begin();
    dropped = std::move(own->then); // its destruction can end other places
    lane.erase(own);
    if (lane.empty())
      lanes_.erase(at);
    else if (was_first)
      next.swap(lane.front().then);
  }
  if (next) next();
}

} // namespace quell::controller::turns
