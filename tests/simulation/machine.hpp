// One worker's machine: its clock, its guardian and the processes of its tasks. The guardian is a model of
// worker/guardian (its README is the specification); the kernel's part and the loop around it are modelled by hand.
//
// The model keeps the properties that the rest of the cluster relies on: requests and events each in order, the hold
// and the go byte, kills repeated until the containment is empty, the lease's end, the death of worker or guardian.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/messages.hpp"
#include "tests/simulation/events.hpp"
#include "tests/simulation/task_script.hpp"
#include "worker/guardian/client.hpp"

namespace quell::simulation {

struct world;

class machine {
 public:
  machine(world& w, std::size_t worker, std::int64_t ppm);

  machine_clock clock;
  std::string boot_id;

  // ---- the worker's end of the guardian, as guardian_client
  void launch(); ///< a new guardian; only when `empty()`
  void spawn(const wire::start& order);
  bool go(const operation_id& operation);
  void stop(const worker::stop_request& r);
  void lease(boot_time base, milliseconds length);
  void look(const operation_id& operation);
  void hang_up(const operation_id& operation);
  std::vector<worker::guardian_event> receive();

  // ---- deaths
  void worker_died();
  void kill_guardian();
  void reboot();
  /// Sends SIGKILL to everything, as a sweep does; call until `empty()`.
  void sweep();
  /// Releases the processes that were stuck in the kernel.
  void release_stuck();

  bool guardian_lives() const { return guardian_lives_; }
  /// True if the last guardian of this boot did not end by itself.
  bool guardian_was_killed() const { return guardian_was_killed_; }
  /// True if no process of any task exists.
  bool empty() const;
  bool lives(const operation_id& operation) const;
  /// True if a living process of the operation could still run (a killed and stuck one cannot).
  bool could_run(const operation_id& operation) const;
  bool has_stuck(const operation_id& operation) const;

 private:
  using force = worker::task_ended_here::force;
  struct process {
    process_script script;
    bool alive = true, killed = false, signalled = false, is_leader = false, was_stuck = false;
  };
  struct task {
    operation_id operation;
    std::uint64_t serial = 0;
    task_script script;
    std::int32_t pid = 0;
    std::uint32_t slots = 0;
    on_leader_exit leader_exit = on_leader_exit::wait;
    std::optional<milliseconds> lease;
    std::vector<process> processes;
    // the worker's side
    bool hold_open = true, held_reported = false, has_go = false;
    // the guardian's
    bool is_made = false, held = false, executed = false, exec_failed = false;
    bool stopping = false, killing = false, signalled = false, reaping = false, over = false, swept = false;
    force sent = force::nothing;
    std::optional<boot_time> kill_at, signal_at;
    instant pause = 10 * ms;
    std::optional<exit_state> exit;
  };

  task* find(const operation_id& operation);
  /// A request to the guardian: delivered in order, a moment later; lost if the guardian dies.
  void order(std::function<void()> what);
  void say(worker::guardian_event event);
  void on_task(std::uint64_t serial, instant delay, std::function<void(task&)> what);
  void at_clock(std::uint64_t serial, boot_time when, std::function<void(task&)> what);

  void make(const operation_id& operation);
  void execute(task& t);
  void begin(task& t, std::size_t index);
  void obey_stop(const operation_id& operation, bool held, boot_time kill_at, std::optional<boot_time> signal_at);
  void signal(task& t);
  void kill(task& t);
  void kill_round(task& t);
  void kill_process(task& t, std::size_t index);
  void process_dies(task& t, std::size_t index, exit_state how);
  void finish(task& t);
  void report_still_there(task& t);
  void report_each_second(task& t);
  void renew(boot_time base, milliseconds length);
  bool lease_over(const task& t) const;
  void check_leases();
  void drop(std::uint64_t serial);
  boot_time boot() const;

  world& world_;
  std::size_t worker_;
  random_stream random_;
  std::map<std::uint64_t, task> tasks_; ///< by serial
  std::unordered_map<operation_id, std::uint64_t> by_operation_;
  std::vector<worker::guardian_event> events_;
  bool guardian_was_killed_ = false;
  std::uint64_t serials_ = 0, life_ = 0, lease_checks_ = 0;
  instant last_order_ = 0, last_word_ = 0;
  std::int32_t pids_ = 1000;
  bool guardian_lives_ = false, worker_here_ = false, nothing_sticks_ = false;
  std::optional<boot_time> lease_base_;
  milliseconds lease_length_{0};
};

} // namespace quell::simulation
