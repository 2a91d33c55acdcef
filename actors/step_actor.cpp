// A step actor: one handler per message, around its table of later steps.
#include "actors/step_actor.hpp"

#include <atomic>
#include <caf/all.hpp>
#include <mutex>
#include <utility>

#include "actors/due_table.hpp"
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
  explicit actor_step_loop(caf::actor_system& system)
      : system_(system), to_(system.spawn(step_behavior, is_stopped_)) {}
  ~actor_step_loop() override {
    if (to_) caf::anon_send_exit(to_, caf::exit_reason::user_shutdown);
  }
  actor_step_loop(const actor_step_loop&) = delete;
  actor_step_loop& operator=(const actor_step_loop&) = delete;

  void post(step what) override { send(run_step(std::move(what))); }
  void after(milliseconds wait, step what) override { send(run_step_later(wait, std::move(what))); }
  void stop() override {
    *is_stopped_ = true;
    step_actor to;
    {
      const std::lock_guard lock(guard_);
      to = std::exchange(to_, nullptr);
    }
    if (!to) return;
    const caf::scoped_actor self(system_);
    self->send_exit(to, caf::exit_reason::user_shutdown);
    self->wait_for(to);
  }

 private:
  template <class Message>
  void send(Message what) {
    const std::lock_guard lock(guard_);
    if (to_) caf::anon_send(to_, std::move(what));
  }

  caf::actor_system& system_;
  const stop_mark is_stopped_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex guard_;
  step_actor to_; ///< nullptr: stopped
};

} // namespace

std::shared_ptr<step_loop> spawn_step_loop(caf::actor_system& system) {
  return std::make_shared<actor_step_loop>(system);
}

} // namespace quell::actors
