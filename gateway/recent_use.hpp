// The time that callers have used lately; half of it is forgotten after a while. Pure; the caller passes the time.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace quell::controller::http {

class recent_use {
 public:
  using clock = std::chrono::steady_clock;
  using span = std::chrono::duration<double>; ///< seconds

  explicit recent_use(span half_life, std::size_t most_callers = 10'000)
      : half_life_(half_life), most_callers_(most_callers) {}

  void add(const std::string& who, span used, clock::time_point now) {
    if (callers_.size() >= most_callers_ && !callers_.contains(who)) forget(now);
    callers_[who] = {of(who, now) + used, now};
  }
  /// The part of the caller's use that still counts at `now`.
  span of(const std::string& who, clock::time_point now) const {
    const auto found = callers_.find(who);
    return found == callers_.end() ? span{0} : left_of(found->second, now);
  }
  std::size_t size() const { return callers_.size(); }

 private:
  struct use {
    span used{0};
    clock::time_point at{};
  };
  span left_of(const use& u, clock::time_point now) const {
    return u.used * std::exp2(-(span(now - u.at) / half_life_));
  }
  /// Drops the callers of whose use less than a thousandth of a second is left; if that is nobody, all of them.
  void forget(clock::time_point now) {
    std::erase_if(callers_, [&](const auto& one) { return left_of(one.second, now) < span(0.001); });
    if (callers_.size() >= most_callers_) callers_.clear();
  }

  span half_life_;
  std::size_t most_callers_;
  std::unordered_map<std::string, use> callers_;
};

} // namespace quell::controller::http
