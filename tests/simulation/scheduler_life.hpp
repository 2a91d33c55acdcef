// State shared by everything of one life of the simulated turn scheduler: none of its events runs after that life has
// ended.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

struct scheduler_life {
  scheduler_life(world& w, std::uint64_t number)
      : at(w), random(w.plan.seed, mix(6000, number)), deaths(w.plan.seed, mix(6500, number)) {}
  world& at;
  random_stream random;
  random_stream deaths; ///< of its actors
  bool is_over = false;
  instant last_ask = 0; ///< messages to the controller arrive in order
  std::uint64_t model_calls = 0;
  std::vector<std::function<void()>> closers; ///< of what holds itself, run with the end of the life
};

/// Runs `what` after this delay, unless the life has ended by then.
inline void later(const std::shared_ptr<scheduler_life>& life, instant delay, std::function<void()> what) {
  life->at.events.after(delay, [life, what = std::move(what)] {
    if (!life->is_over && !life->at.failed()) what();
  });
}

} // namespace quell::simulation
