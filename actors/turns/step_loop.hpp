// Where the steps of one component run: one at a time, in the order in which they came. In quelld an actor
// (actors/step_actor.hpp), in the simulation a virtual thread.
#pragma once

#include <functional>
#include <memory>

#include "protocol/time.hpp"

namespace quell::controller::turns {

/// Any thread. A step that throws is logged and ends only itself.
class step_loop {
 public:
  using step = std::function<void()>;

  virtual ~step_loop() = default;
  virtual void post(step what) = 0;
  virtual void after(milliseconds wait, step what) = 0;
  /// Waits for the step that runs and frees the others; further ones are dropped. Not called from a step.
  virtual void stop() = 0;
};

/// Makes the loop of a component.
using make_step_loop = std::function<std::shared_ptr<step_loop>()>;

} // namespace quell::controller::turns
