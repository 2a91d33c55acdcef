// Delivers stops of external operations to the owners that wait for them, by operation or by session.
//
// A watcher subscribes first and then asks the controller, so no stop is missed; a stop that comes by both ways is the
// same. Only `publish` may be called from other threads. Each thread of the gateway has a hub of its own.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/external_operations.hpp"
#include "gateway/awaiting.hpp"

namespace quell::controller::http {

struct signal_watcher {
  explicit signal_watcher(io_context& io) : arrived(std::make_shared<signal>(io)) {}
  std::optional<operation_id> operation; ///< of this operation; nullopt: of the session
  std::string session;
  std::deque<external_signal> queue;
  bool lagging = false; ///< too many signals came: the watcher must request them all again
  std::shared_ptr<signal> arrived;
};

class external_hub {
 public:
  explicit external_hub(io_context& io) : io_(io) {}

  /// Any thread. Cheap without watchers.
  void publish(const external_signal& s);
  /// Removed when the last owner releases it.
  std::shared_ptr<signal_watcher> watch(const operation_id& operation);
  std::shared_ptr<signal_watcher> watch(const std::string& session);
  /// Wakes all watchers for the last time.
  void close();

 private:
  std::shared_ptr<signal_watcher> enter();
  void drain();

  io_context& io_;
  std::atomic<int> interested_{0};
  std::mutex mutex_;
  std::vector<external_signal> inbox_; // under mutex_; everything else belongs to the thread of io_
  std::list<signal_watcher*> watchers_;
};

} // namespace quell::controller::http
