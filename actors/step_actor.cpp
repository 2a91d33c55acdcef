// A step actor: one handler per message, around its table of later steps.
#include "actors/step_actor.hpp"

#include <atomic>
#include <caf/all.hpp>
#include <utility>

#include "actors/due_table.hpp"
#include "actors/held_actor.hpp"
#include "actors/own_exit.hpp"
#include "actors/turns/guarded_step.hpp"

namespace quell::actors {

namespace {

using controller::turns::run_guarded;
using controller::turns::step_loop;

struct step_state {
  due_table<std::function<void()>> later;
};

using step_pointer = step_actor::stateful_pointer<step_state>;

/// The end of an actor can come behind messages that it has taken from its mailbox already, so each step looks.
using stop_mark = std::shared_ptr<std::atomic<bool>>;

void take(const stop_mark& is_stopped, const std::function<void()>& step) {
  if (!*is_stopped) run_guarded("a step of the turn scheduler", step);
}

step_actor::behavior_type step_behavior(step_pointer self, const stop_mark& is_stopped) {
  end_by_own_exit(self);
  return {
      [is_stopped](const run_step& m) { take(is_stopped, m.what); },
      [self](const run_step_later& m) {
        run_guarded("a later step of the turn scheduler", [&] {
          self->state.later.add(self->clock().now() + m.wait, m.what);
          self->state.later.arm(self);
        });
      },
      [self, is_stopped](const clock_ticked& m) {
        if (!self->state.later.ticked(m)) return;
        if (const auto step = self->state.later.take(self->clock().now())) take(is_stopped, *step);
        self->state.later.arm(self);
      },
  };
}

class actor_step_loop final : public step_loop {
 public:
  explicit actor_step_loop(caf::actor_system& system) : to_(system, system.spawn(step_behavior, is_stopped_)) {}

  void post(step what) override {
    to_.send([&] { return run_step(std::move(what)); });
  }
  void after(milliseconds wait, step what) override {
    to_.send([&] { return run_step_later(wait, std::move(what)); });
  }
  void stop() override {
    *is_stopped_ = true;
    to_.end();
  }

 private:
  const stop_mark is_stopped_ = std::make_shared<std::atomic<bool>>(false);
  held_actor<step_actor> to_;
};

} // namespace

std::shared_ptr<step_loop> spawn_step_loop(caf::actor_system& system) {
  return std::make_shared<actor_step_loop>(system);
}

} // namespace quell::actors
