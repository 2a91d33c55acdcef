// The background reads of a process, each executor an actor on its own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "actors/interfaces.hpp"
#include "actors/turns/blocking_executor.hpp"

namespace caf {
class actor_system;
}

namespace quell::actors {

enum class executor_thread : std::uint8_t {
  own,    ///< its jobs may wait for a disk
  shared, ///< a thread of the system's scheduler, which a test can step through
};

struct executor_environment {
  std::unique_ptr<controller::store_reader> store; ///< used by the jobs only
  std::atomic<bool> is_stopped = false;            ///< true: no further job runs
};

/// The actor alone. A job that throws ends the process: nobody could say what it has left undone.
executor_actor spawn_executor_actor(caf::actor_system& system, std::shared_ptr<executor_environment> environment,
                                    executor_thread on);

/// The executor over such an actor with its own thread. `system` must live until its `stop`, which waits for the job
/// that runs, and frees the others. Not called from a job.
std::unique_ptr<controller::turns::blocking_executor> spawn_executor(caf::actor_system& system,
                                                                     std::unique_ptr<controller::store_reader> store);

} // namespace quell::actors
