// The guardian's core: one loop over the worker's socket, the keepers' channels, dead children and the clock (README.md
// explains the design).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "worker/guardian/client.hpp"
#include "worker/guardian/keeper.hpp"
#include "worker/guardian/limiter.hpp"
#include "worker/guardian/lingering_mounts.hpp"
#include "worker/guardian/sandbox.hpp"
#include "worker/guardian/subtree.hpp"
#include "worker/guardian/wire.hpp"

namespace quell::worker {

/// The guardian's record of one task.
struct guarded_task {
  using force = task_ended_here::force;

  std::uint64_t serial = 0;
  operation_id operation;
  pid_t keeper = 0; ///< 0 once it has been reaped
  pid_t leader = 0; ///< as the host numbers it; 0 until it is held
  unique_fd channel;
  unique_fd mounts; ///< its mount namespace, once it is being stopped
  bool has_cgroup = false;
  std::string directory, command; ///< for messages
  int stop_signal = 15;
  std::optional<std::chrono::milliseconds> lease;

  keeper_report known;
  std::optional<exit_state> exit;
  bool by_worker = false;     ///< it could not begin, for a reason independent of the task
  task_limits limits;         ///< a limit that the task asked for can prevent its start
  std::string limit_met;      ///< the limit that it exceeded
  std::string refused;        ///< why it was ended before it was reported as held
  bool keeper_failed = false; ///< its keeper was killed: the remaining processes became the guardian's children

  bool stopping = false; ///< by a stop, the lease or the worker's end
  bool killing = false;
  bool signalled = false;
  bool look = false;
  force sent = force::nothing;
  std::int64_t signal_at = never, kill_at = never, retry_at = never, say_at = never, poke_keeper_at = never;
  std::int64_t killed_at = never;
  std::int64_t reaped_at = never; ///< all its processes are reaped, and its end waits for those of others
  std::int64_t pause_ns = 0;
  std::int64_t armed_at = never; ///< its entry in the timer queue

  static constexpr std::int64_t never = INT64_MAX;
  std::string cgroup_name() const { return "t-" + operation.text(); }
};

class guardian {
 public:
  struct options {
    unique_fd worker; ///< SOCK_SEQPACKET
    unique_fd life;   ///< the life lock, held; none: -1
    containment_report report;
    std::unique_ptr<cgroup_subtree> subtree; ///< null if no cgroup can be used
    sandbox confinement{{}};
    limiter limits;
    std::string name; ///< of the subtree
    std::uint64_t open_files_limit = 0;
    bool memory_can_be_lent = false;
  };
  explicit guardian(options o);
  /// Runs until the worker is gone and every task is proven dead.
  int run();

 private:
  // guardian.cpp: the loop
  bool set_up();
  void turn();
  void hear_worker();
  void hear_keeper(std::uint64_t serial);
  void reap_children();
  void clock_rang();
  void arm_clock();
  void say(const guardian_event& event);
  void flush();
  void worker_left();

  // guardian_spawn.cpp: requests and starts
  void obey(std::string_view datagram, std::vector<unique_fd>& fds);
  void spawn(byte_reader& in, std::vector<unique_fd>& fds);
  std::string start(guarded_task& task, const spawn_header& header, byte_reader& texts, std::vector<unique_fd>& fds);
  void apply(guarded_task& task, const keeper_report& report, pid_t sender);
  void renew(boot_time base, std::chrono::milliseconds length);
  bool lease_over(const guarded_task& task, boot_time now) const;

  // guardian_stop.cpp: stops and ends
  void stop(const stop_order& order);
  void kill_task(guarded_task& task);
  void kill_round(guarded_task& task, std::int64_t now);
  void signal_task(guarded_task& task);
  void hold_mounts(guarded_task& task) const;
  void on_time(guarded_task& task, std::int64_t now);
  void schedule(guarded_task& task);
  void check_leases();
  void keeper_ended(guarded_task& task, int wait_status);
  /// Finishes the killed tasks whose keepers were reaped: together, once none of those that were killed with them is
  /// still dying, or a little later. Until then everything that is done for the dead only delays the dying.
  void finish_reaped();
  /// Reports and forgets the task if every layer of its containment is empty.
  bool try_finish(guarded_task& task);
  void kill_orphans();
  /// Removes leftovers of stopped tasks that no end waits for: their mounts, and, a few at a time, the directories of
  /// their limits.
  void tidy();
  /// True if orders cannot reach the keeper: a task has stopped or traced it, or a tracer keeps its end from us.
  static bool is_captured(pid_t keeper);
  task_still_there describe(guarded_task& task, std::int64_t now);

  guarded_task* find(const operation_id& operation);
  bool uses_pidns() const { return report_.level == containment::pidns || report_.level == containment::cgroup_pidns; }
  bool uses_cgroup() const {
    return report_.level == containment::cgroup || report_.level == containment::cgroup_pidns;
  }

  unique_fd worker_, life_, epoll_, children_, clock_;
  containment_report report_;
  std::unique_ptr<cgroup_subtree> subtree_;
  sandbox sandbox_;
  limiter limiter_;
  lingering_mounts mounts_;
  std::uint64_t open_files_limit_ = 0;
  bool memory_can_be_lent_ = false; ///< by keepers to leaders

  std::unordered_map<std::uint64_t, std::unique_ptr<guarded_task>> tasks_;
  std::unordered_map<operation_id, std::uint64_t> by_operation_;
  std::unordered_map<pid_t, std::uint64_t> by_keeper_;
  std::uint64_t next_serial_ = 16; ///< smaller numbers are the loop's own descriptors
  std::set<std::pair<std::int64_t, std::uint64_t>> timers_;
  std::int64_t clock_set_to_ = guarded_task::never;

  std::optional<boot_time> lease_base_;
  std::chrono::milliseconds lease_length_{0};
  std::int64_t lease_check_at_ = guarded_task::never;
  bool sent_lease_ = false;   ///< a renewal was read, and no lease has been judged by it yet
  bool more_to_hear_ = false; ///< the worker's socket was not read to its end
  int turns_unheard_ = 0;     ///< iterations in a row in which that was so

  byte_writer saying_;
  std::deque<std::string> unsent_;
  bool worker_here_ = true, waiting_to_send_ = false, orphans_ = false;
  std::int64_t orphans_at_ = guarded_task::never;
  std::deque<std::uint64_t> reaped_; ///< killed tasks that `finish_reaped` finishes
  std::int64_t finish_by_ = guarded_task::never;
  std::deque<std::pair<std::string, task_limits>> limits_to_take_back_;
  std::int64_t tidy_at_ = guarded_task::never, tidy_by_ = guarded_task::never;
  std::vector<char*> argv_, envp_;
  std::string name_;
};

} // namespace quell::worker
