// An executor: one handler per message, around its table of jobs.
#include "actors/executor_actor.hpp"

#include <caf/all.hpp>
#include <exception>
#include <utility>

#include "actors/due_table.hpp"
#include "actors/held_actor.hpp"
#include "actors/own_exit.hpp"

namespace quell::actors {

namespace {

using controller::turns::blocking_executor;

struct executor_state {
  std::shared_ptr<executor_environment> environment;
  due_table<std::shared_ptr<const blocking_executor::job>> jobs;
};

using executor_pointer = executor_actor::stateful_pointer<executor_state>;

/// Runs one job, and arms the timer if there are more.
void run_due_job(executor_pointer self) {
  auto& s = self->state;
  if (const auto job = s.jobs.take(self->clock().now()); job && !s.environment->is_stopped)
    (**job)(*s.environment->store);
  s.jobs.arm(self);
}

executor_actor::behavior_type executor_behavior(executor_pointer self,
                                                std::shared_ptr<executor_environment> environment) {
  self->state.environment = std::move(environment);
  self->set_exception_handler([](std::exception_ptr&) -> caf::error { std::terminate(); });
  end_by_own_exit(self);
  return {
      [self](const run_job& m) {
        self->state.jobs.add(m.due, m.what);
        run_due_job(self);
      },
      [self](const clock_ticked& m) {
        if (self->state.jobs.ticked(m)) run_due_job(self);
      },
  };
}

class actor_executor final : public blocking_executor {
 public:
  actor_executor(caf::actor_system& system, std::unique_ptr<controller::store_reader> store)
      : system_(system), environment_(environment_with(std::move(store))),
        to_(system, spawn_executor_actor(system, environment_, executor_thread::own)) {}
  ~actor_executor() override { actor_executor::stop(); }
  actor_executor(const actor_executor&) = delete;
  actor_executor& operator=(const actor_executor&) = delete;

  void run_after(std::chrono::milliseconds wait, job what) override {
    to_.send([&] { return run_job(system_.clock().now() + wait, std::move(what)); });
  }
  /// The system waits for the actor's thread, which ends with the last handle.
  void stop() override {
    environment_->is_stopped = true;
    to_.end();
  }

 private:
  static std::shared_ptr<executor_environment> environment_with(std::unique_ptr<controller::store_reader> store) {
    auto made = std::make_shared<executor_environment>();
    made->store = std::move(store);
    return made;
  }

  caf::actor_system& system_;
  const std::shared_ptr<executor_environment> environment_;
  held_actor<executor_actor> to_;
};

} // namespace

executor_actor spawn_executor_actor(caf::actor_system& system, std::shared_ptr<executor_environment> environment,
                                    executor_thread on) {
  return on == executor_thread::own ? system.spawn<caf::detached>(executor_behavior, std::move(environment))
                                    : system.spawn(executor_behavior, std::move(environment));
}

std::unique_ptr<blocking_executor> spawn_executor(caf::actor_system& system,
                                                  std::unique_ptr<controller::store_reader> store) {
  return std::make_unique<actor_executor>(system, std::move(store));
}

} // namespace quell::actors
