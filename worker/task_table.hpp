// The core of the worker, pure: which tasks exist, which can start, which must stop, how races are decided, and what is
// reported to the controller.
//
// A task goes   queued → spawning → held → running → draining → ended   and is forgotten when its result is stored.
//               (waits for (guardian  (cloned, (go     (proof of     (result kept
//                slots)     clones)    no exec) given)   the end)      until stored)
// Frames, guardian events and moments come in; effects go out, and the one thread that owns this table performs them at
// once and in order. So nothing can come between the last check of cutoffs, lease and state (`hear(task_held)`) and the
// go.
// Races, and why they are harmless:
//  - A stop before the task is held: the guardian gets spawn and stop in this order; a later task_held finds the stop
//    and gives no go.
//  - A stop after the go: the guardian signals; whichever end it sees is reported with the stop's seq.
//  - The end arrives before the stop: the stop finds no live task; the task keeps its own end (stop_seq 0).
#pragma once

#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "protocol/failure_code.hpp"
#include "protocol/lease.hpp"
#include "protocol/messages.hpp"
#include "worker/applied_stops.hpp"
#include "worker/effects.hpp"

namespace quell::worker {

class task_table {
 public:
  struct settings {
    std::uint32_t slots = 8;
    containment level = containment::group;
    std::size_t most_tasks = 50'000;  ///< known at the same time, results included; a START beyond it is refused
    std::size_t remembered = 100'000; ///< ids of forgotten tasks, so that a late repeat of a START never runs
    std::chrono::milliseconds longest_grace = std::chrono::hours{24 * 7};
  };
  /// `lease` is read at every go and must outlive the table.
  task_table(settings s, const worker_lease& lease) : settings_(s), lease_(lease) {}

  // Frames, in the order of the channel. A frame is applied when its function returns.
  void start(wire::start order, moment now, effects& out);
  void stop(const wire::stop& s, moment now, effects& out);
  void results_stored(const wire::results_stored& stored);

  // Guardian events, and the answers to effects.
  void hear(const guardian_event& event, moment now, effects& out);
  void go_result(const operation_id& operation, bool was_given, moment now);
  /// `code` other than start_failed: `why` is the whole message.
  void spawn_refused(const operation_id& operation, std::string why, moment now, effects& out,
                     std::string code = std::string(name_of(failure_code::start_failed)));
  /// Nothing can be started here: drops this task, which has no go, and all waiting tasks, so that the controller can
  /// place them elsewhere. Tasks that were stopped meanwhile end as never started.
  void give_back(const operation_id& failed, moment now, effects& out);
  void output_finished(const operation_id& operation, const output_counts& counts, moment now, effects& out);

  /// Spawns waiting tasks that have room, `most` at a time, so that a flood of starts cannot delay a stop behind it.
  void pump(moment now, std::size_t most, effects& out);
  /// True while a task waits that `pump` could spawn.
  bool pumpable() const;
  /// Asks for the processes of tasks in their grace.
  void tick(moment now, effects& out);
  std::optional<boot_time> next_tick() const;

  /// It has used more of something than it may, as `why` says: it is ended, within its grace and two seconds at most. A
  /// task that has not begun, is being stopped or has ended is let be.
  void exceed(const operation_id& operation, std::string why, moment now, effects& out);

  enum class departure : std::uint8_t { with_grace, immediate };
  /// The worker must leave: every task is stopped (each with its own grace, or at once) and no new one is accepted.
  void leave(moment now, departure how, effects& out);
  /// A new session may begin, and with it a new lease. A task that has not begun and whose lease is over must not begin
  /// under the new lease, since the controller may have taken it for dead by rule. Call before reading a welcome.
  void expire_unstarted(moment now, effects& out);
  /// The guardian died and its containment was swept: every live task is dead.
  void swept(moment now, effects& out);

  /// Fills inventory and results of a hello. Results beyond `most_results` stay in the inventory as running and are
  /// returned, to be sent after the hello: it omits no task that was ever accepted.
  std::vector<wire::task_ended> describe(wire::hello& hello, std::size_t most_results = 10'000) const;

  std::size_t live() const { return live_; }
  std::size_t unstored() const { return tasks_.size() - live_; }
  std::uint32_t slots_used() const { return slots_used_; }
  bool knows(const operation_id& operation) const { return tasks_.contains(operation); }

 private:
  enum class phase : std::uint8_t { queued, spawning, held, running, draining, ended };
  struct applied_stop {
    std::uint64_t seq = 0; ///< 0 = the worker's own (it leaves)
    moment at{};
    boot_time kill_at{};
    std::optional<boot_time> signal_at;
    boot_time by_controller_at{}; ///< when `seq` became the controller's
  };
  struct task {
    operation_id operation;
    std::uint64_t as_of = 0;
    scope_path scope;
    std::vector<operation_id> ancestors;
    std::uint32_t slots = 0;
    bool pty = false, cooperative_stop = false;
    bool executing = false; ///< its command has begun, according to the guardian
    on_leader_exit leader_exit = on_leader_exit::wait;
    std::optional<milliseconds> lease;
    milliseconds grace{};
    phase at = phase::queued;
    std::optional<wire::start> order; ///< until it is passed to the guardian
    std::int32_t pid = 0;
    wall_time started_at{};
    std::optional<applied_stop> stop;
    std::optional<exit_state> leader;
    std::string exec_error;
    std::string exceeded; ///< why the worker ended it; "" = it did not
    wire::task_ended end; ///< filled from draining on
  };

  task* find(const operation_id& operation);
  bool touched_by(const task& t, const wire::stop& s, const std::unordered_set<operation_id>& closed) const;
  void apply(task& t, std::uint64_t seq, milliseconds grace, moment now, effects& out);
  void tighten(task& t, std::uint64_t seq, milliseconds grace, moment now, effects& out);
  static void forget_late_stop(task& t, const task_ended_here& e);
  void decide(task& t, const task_ended_here& e, moment now);
  /// No `why`: it was stopped.
  void end_unrun(task& t, std::uint64_t stop_seq, std::optional<failure_code> why, std::string message, moment now,
                 effects& out);
  void ended(task& t, const task_ended_here& e, moment now, effects& out);
  void still_there(task& t, const task_still_there& e, moment now, effects& out);
  void publish(task& t, effects& out);
  void release(task& t);
  std::string lease_message(const task& t, moment now) const;
  void forget(const operation_id& operation);

  settings settings_;
  const worker_lease& lease_;
  applied_stops applied_stops_;
  std::unordered_map<operation_id, task> tasks_;
  std::deque<operation_id> queue_;
  std::size_t live_ = 0; ///< tasks that are not `ended`
  std::uint32_t slots_used_ = 0;
  std::set<std::pair<boot_time, operation_id>> looks_;
  std::unordered_set<operation_id> forgotten_;
  std::deque<operation_id> forgotten_by_age_;
  bool leaving_ = false;
};

} // namespace quell::worker
