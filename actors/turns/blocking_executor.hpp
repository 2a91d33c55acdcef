// Runs background reads: jobs that can wait for a disk or for an instant, such as reading the store and task output,
// and retries. `actors/executor_actor.hpp` makes them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "controller/store_reader.hpp"

namespace quell::controller::turns {

class blocking_executor {
 public:
  using job = std::function<void(store_reader&)>;

  virtual ~blocking_executor() = default;

  /// Any thread. Jobs run one after the other, in the order of their instants. After `stop` no job runs.
  void run(job what) { run_after(std::chrono::milliseconds{0}, std::move(what)); }
  virtual void run_after(std::chrono::milliseconds wait, job what) = 0;
  virtual void stop() = 0;
};

/// Makes one with its own thread and this connection to the store.
using make_executor = std::function<std::unique_ptr<blocking_executor>(std::unique_ptr<store_reader> store)>;

} // namespace quell::controller::turns
