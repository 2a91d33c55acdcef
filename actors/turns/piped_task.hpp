// A task on a worker with a conversation: bytes to its standard input, bytes from its standard output, and its end.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/turns/agent_runtime.hpp"

namespace quell::controller::turns {

/// Callbacks on the thread of background reads, one at a time: first `started`, last `gone`.
struct pipe_ends {
  std::function<void()> started;
  std::function<void(std::string_view bytes)> received;
  /// Called once; `why` reads like "exited with status 1". `was_stopped`: somebody requested its end.
  std::function<void(const std::string& why, bool was_stopped)> gone;
  /// On the controller's thread, at once: must only pass the end on. May be empty.
  std::function<void(const ended_operation& e)> ended = {};
};

/// Must be held by a shared_ptr; any thread. Its bytes belong to its carrier, which takes one step at a time.
class piped_task final : public operation_watcher, public std::enable_shared_from_this<piped_task> {
 public:
  /// The executor that carries its bytes and calls `pipe_ends`.
  enum class carried_by : bool { background_reads, speech_work };

  /// `name`: for the log.
  piped_task(std::shared_ptr<agent_runtime> runtime, std::string name, carried_by how = carried_by::background_reads)
      : runtime_(std::move(runtime)), name_(std::move(name)), how_(how) {}

  /// Completes `order` to a task with open stdin.
  void start(create_order order, pipe_ends ends);
  const operation_id& id() const { return id_; } ///< valid once started
  /// In order; input written before the start waits. At most 16 MiB wait for a task that does not read; false: there
  /// was no room, and these bytes are lost. A task that has ended loses all.
  bool write(std::string bytes);
  /// Closes its standard input after the bytes written so far.
  void end_input();
  /// Stops the task.
  void stop(stop_cause cause);
  /// Its further output is not read, and its end is not reported.
  void let_go();

  void started(const std::string& worker) override;
  void ended(const ended_operation& e) override;

 private:
  blocking_executor& carrier() const {
    return how_ == carried_by::speech_work ? *runtime_->speech_work : *runtime_->background_reads;
  }
  // Steps of the carrier:
  void append(const std::string& bytes);
  void feed();
  void read_more();
  bool read_all();
  void read_last(const std::string& why, bool was_stopped, int tries);
  void finish(const std::string& why, bool was_stopped);
  void carry(std::function<void()> step, std::chrono::milliseconds wait = std::chrono::milliseconds{0});

  std::shared_ptr<agent_runtime> runtime_;
  const std::string name_;
  const carried_by how_;
  operation_id id_;                                      ///< constant once started, as is `notice_`
  std::function<void(const ended_operation& e)> notice_; ///< of its end; may be empty
  std::atomic<bool> is_over_{false};                     ///< nothing more is read or reported
  std::atomic<std::size_t> accepted_{0};                 ///< bytes that were accepted and not sent yet

  // The carrier's:
  pipe_ends ends_;
  std::string worker_; ///< "" = it has not started
  std::string unsent_; ///< after `sent_`
  std::uint64_t sent_ = 0, read_ = 0;
  bool has_end_ = false;   ///< no further input is accepted
  bool wants_end_ = false; ///< and the end must still be sent
  bool is_feeding_ = false;
};

} // namespace quell::controller::turns
