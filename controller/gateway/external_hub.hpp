// Where the stops of external operations meet the owners who wait for them: by operation, or by session.
//
// A watcher subscribes first and asks the controller then, so nothing falls between; what comes twice says the same.
// Only `publish` may be called from other threads.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/external_books.hpp"
#include "controller/gateway/awaiting.hpp"

namespace quell::controller::http {

struct signal_watcher {
  explicit signal_watcher(io_context& io) : arrived(std::make_shared<signal>(io)) {}
  std::optional<operation_id> operation; ///< of this one, else of the session
  std::string session;
  std::deque<external_signal> queue;
  bool lagging = false; ///< too many came: they are to be asked for anew
  std::shared_ptr<signal> arrived;
};

class external_hub {
 public:
  explicit external_hub(io_context& io) : io_(io) {}

  /// Any thread. Cheap while nobody listens.
  void publish(const external_signal& s);
  /// Forgotten when the last owner lets go.
  std::shared_ptr<signal_watcher> watch(const operation_id& operation);
  std::shared_ptr<signal_watcher> watch(const std::string& session);
  /// Wakes everybody for the last time.
  void close();
  std::size_t watchers() const { return static_cast<std::size_t>(interested_.load()); }

 private:
  std::shared_ptr<signal_watcher> enter();
  void drain();

  io_context& io_;
  std::atomic<int> interested_{0};
  std::mutex mutex_;
  std::vector<external_signal> inbox_; // under mutex_; all else belongs to the io thread
  std::list<signal_watcher*> watchers_;
};

} // namespace quell::controller::http
