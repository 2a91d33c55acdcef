// A distribution in Prometheus form: counts at or below fixed bounds, with count and sum. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quell::controller {

/// Seconds, from a tenth of a millisecond (a fence on a fast disk) to a minute (a long grace).
class histogram {
 public:
  static constexpr std::array<double, 18> bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                 0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30,    60};

  void observe(double seconds) {
    std::size_t at = 0;
    while (at < bounds.size() && seconds > bounds[at]) ++at;
    ++counts_[at];
    ++count_;
    sum_ += seconds;
  }
  /// Observations at or below `bounds[i]`.
  std::uint64_t up_to(std::size_t i) const {
    std::uint64_t all = 0;
    for (std::size_t at = 0; at <= i; ++at) all += counts_[at];
    return all;
  }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

} // namespace quell::controller
