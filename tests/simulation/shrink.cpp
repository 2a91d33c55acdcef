// Delta debugging over troubles and schedule.
#include "tests/simulation/shrink.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

namespace {

class shrinker {
 public:
  shrinker(std::uint64_t seed, cuts from, std::string invariant, int most_runs)
      : seed_(seed), best_(std::move(from)), invariant_(std::move(invariant)), left_(most_runs) {}

  cuts run() {
    if (cuts silent = best_; !std::exchange(silent.chats_off, true)) take_if_it_fails(silent);
    if (cuts silent = best_; !std::exchange(silent.voice_off, true)) take_if_it_fails(silent);
    if (cuts open = best_; !std::exchange(open.guilds_off, true)) take_if_it_fails(open);
    for (unsigned t = 0; t < static_cast<unsigned>(trouble::count_); ++t) {
      if (!make_scenario(seed_, best_).has(static_cast<trouble>(t))) continue;
      cuts smaller = best_;
      smaller.troubles_off |= 1U << t;
      take_if_it_fails(smaller);
    }
    drop_entries();
    return best_;
  }

 private:
  bool take_if_it_fails(const cuts& smaller) {
    if (left_ <= 0) return false;
    --left_;
    world w(make_scenario(seed_, smaller), false);
    const auto out = w.play();
    if (!out.broken || out.broken->invariant != invariant_) return false;
    best_ = smaller;
    return true;
  }

  std::vector<int> entries() const {
    std::vector<int> numbers;
    for (const auto& e : make_scenario(seed_, best_).schedule) numbers.push_back(e.number);
    return numbers;
  }

  void drop_entries() {
    for (std::size_t size = std::max<std::size_t>(entries().size() / 2, 1);; size /= 2) {
      bool dropped = false;
      auto left = entries();
      for (std::size_t at = 0; at < left.size(); at += size) {
        cuts smaller = best_;
        for (std::size_t i = at; i < std::min(at + size, left.size()); ++i) smaller.dropped.insert(left[i]);
        dropped = take_if_it_fails(smaller) || dropped;
      }
      if (dropped && size == 1 && left_ > 0) size = 2; // a removed entry can have been the one that others depended on
      if (size <= 1 || left_ <= 0) return;
    }
  }

  std::uint64_t seed_;
  cuts best_;
  std::string invariant_;
  int left_;
};

} // namespace

cuts shrink(std::uint64_t seed, cuts from, const std::string& invariant, int most_runs) {
  return shrinker(seed, std::move(from), invariant, most_runs).run();
}

} // namespace quell::simulation
