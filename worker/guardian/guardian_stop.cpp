// Ends tasks: the signal, the kill, the repeats until the end is proven, and the lease.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "protocol/lease.hpp"
#include "worker/guardian/guardian.hpp"
#include "worker/guardian/processes.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t never = guarded_task::never;
/// After the last end: of a stop of many tasks all are dead by then. A start that comes sooner gets a fresh directory.
constexpr std::int64_t tidy_pause = 20 * ms;
constexpr std::int64_t longest_tidy_pause = 200 * ms;
/// A task that was killed can wait so long for the deaths of the others that were killed less than `dying_time` ago.
constexpr std::int64_t longest_company = 50 * ms;
constexpr std::int64_t dying_time = 500 * ms;
constexpr std::size_t most_finished_at_once = 32;

std::string setup_failure(const keeper_report& known, const std::string& directory) {
  const auto why = errno_text(known.error);
  switch (known.step) {
  case start_step::directory:
    return "cannot enter directory " + directory + ": " + why;
  case start_step::user:
    return "cannot become the task's user: " + why + "; does the worker run as root?";
  case start_step::sandbox:
    return "cannot confine the task (worker.sandbox): " + why;
  case start_step::mount:
    return "cannot mount the task's own /proc: " + why;
  case start_step::workspace:
    return "workspace_isolation: cannot make the task's own view of the file system: " + why;
  case start_step::fork:
    return "cannot fork the task's first process: " + why;
  case start_step::session:
    return "cannot make a session: " + why;
  case start_step::terminal:
    return "cannot make the terminal the controlling one: " + why;
  case start_step::streams:
    return "cannot set up the standard streams: " + why;
  case start_step::keeper:
  case start_step::exec:
  case start_step::none:
    break;
  }
  return "the task's keeper failed: " + why;
}

void note_left(task_ended_here& ended, const keeper_report& known) {
  ended.left_total = known.left_total;
  for (std::uint32_t i = 0; i < std::min(known.left_total, most_left_reported); ++i)
    ended.left.push_back({known.left[i].pid, std::string(1, known.left[i].state), known.left[i].command});
}

void order_keeper(const guarded_task& task, keeper_command command) {
  if (task.channel) ::send(task.channel.get(), &command, sizeof command, MSG_DONTWAIT | MSG_NOSIGNAL);
}

} // namespace

void guardian::stop(const stop_order& order) {
  auto* task = find(order.operation);
  if (!task) return; // it has ended; the worker has the event, or will read it next
  const auto now = boot_now().ns;
  task->stopping = true;
  if (task->killing) return;
  task->kill_at = std::min(task->kill_at, order.kill_at.ns);
  if (order.held || task->kill_at <= now) return kill_task(*task);
  if (!task->signalled) {
    task->signal_at = std::min(task->signal_at, order.signal_at_ns < 0 ? now : order.signal_at_ns);
    if (order.signal_at_ns >= 0 && task->sent == guarded_task::force::nothing)
      task->sent = guarded_task::force::cooperative;
    if (task->signal_at <= now) signal_task(*task);
  }
  schedule(*task);
}

void guardian::hold_mounts(guarded_task& task) const {
  if (!task.mounts && task.keeper > 0 && uses_pidns()) task.mounts = lingering_mounts::hold(task.keeper);
}

void guardian::signal_task(guarded_task& task) {
  if (task.keeper > 0 && !uses_pidns()) ::kill(task.keeper, SIGCONT); // a task of the same user can have stopped it
  order_keeper(task, {keeper_command::what::signal, task.stop_signal});
  task.signalled = true;
  task.signal_at = never;
  task.sent = guarded_task::force::signalled;
  hold_mounts(task); // a task takes longer to end than this does
}

void guardian::kill_task(guarded_task& task) {
  if (task.killing) return;
  const auto now = boot_now().ns;
  task.stopping = task.killing = true;
  task.signal_at = task.kill_at = never;
  task.sent = guarded_task::force::killed;
  task.say_at = now + 1000 * ms;
  task.killed_at = now;
  // Nobody can be born in a killed cgroup or in a namespace whose init is dying, so a repeat is a precaution there. It
  // must not come while many are still dying.
  task.pause_ns = (uses_pidns() ? 40 : 10) * ms;
  hold_mounts(task);
  kill_round(task, now);
  schedule(task);
}

void guardian::kill_round(guarded_task& task, std::int64_t now) {
  task.retry_at = now + task.pause_ns;
  task.pause_ns = std::min(task.pause_ns * 2, 1000 * ms);
  if (task.has_cgroup) write_small_file(subtree_->descriptor(), (task.cgroup_name() + "/cgroup.kill").c_str(), "1");
  if (task.keeper > 0 && uses_pidns()) {
    ::kill(task.keeper, SIGKILL);
  } else if (task.keeper > 0) {
    ::kill(task.keeper, SIGCONT);
    order_keeper(task, {keeper_command::what::kill, 0});
    // A keeper that a task has stopped or traced cannot obey: once it is killed, its descendants become our children. A
    // tracer can even prevent a killed keeper from being waited for; the walk then treats the keeper as the head of its
    // tree.
    if (task.pause_ns > 80 * ms && is_captured(task.keeper)) {
      ::kill(task.keeper, SIGKILL);
      task.keeper_failed = orphans_ = true;
    }
  }
  if (task.keeper_failed) orphans_at_ = now; // in the clock's round: it can end tasks, and this one is in use here
}

bool guardian::is_captured(pid_t keeper) {
  const char state = stat_of(keeper).state;
  return state == 'T' || state == 't' || state == 'Z' || state == 'X' || tracer_of(keeper) != 0;
}

void guardian::on_time(guarded_task& task, std::int64_t now) {
  if (!task.killing && task.kill_at <= now) return kill_task(task);
  if (task.signal_at <= now) signal_task(task);
  if (task.retry_at <= now) {
    if (task.keeper == 0 && try_finish(task)) return;
    if (task.killing) {
      kill_round(task, now);
    } else { // ended by itself, but an unrelated process is in its cgroup
      task.retry_at = now + task.pause_ns;
      task.pause_ns = std::min(task.pause_ns * 2, 1000 * ms);
    }
  }
  if (task.say_at <= now) {
    task.say_at = now + 1000 * ms;
    if (worker_here_ && unsent_.size() < 64) say(describe(task, now));
  }
  schedule(task);
}

void guardian::schedule(guarded_task& task) {
  const auto next = std::min({task.signal_at, task.kill_at, task.retry_at, task.say_at});
  if (next == task.armed_at) return;
  if (task.armed_at != never) timers_.erase({task.armed_at, task.serial});
  if (next != never) timers_.emplace(next, task.serial);
  task.armed_at = next;
}

void guardian::check_leases() {
  const auto now = boot_now();
  lease_check_at_ = never;
  if (!lease_base_) return;
  std::vector<guarded_task*> over;
  for (auto& [serial, task] : tasks_) {
    if (task->killing) continue;
    if (lease_over(*task, now)) {
      over.push_back(task.get());
      continue;
    }
    auto length = task->lease.value_or(lease_length_);
    if (task->known.exec != exec_state::succeeded) length = std::min(length, lease_length_);
    lease_check_at_ = std::min(lease_check_at_, (*lease_base_ + length - kill_margin(length)).ns);
  }
  for (auto* task : over) kill_task(*task);
}

void guardian::keeper_ended(guarded_task& task, int wait_status) {
  task.keeper = 0;
  if (task.channel) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, task.channel.get(), nullptr);
    task.channel.reset();
  }
  if (WIFSIGNALED(wait_status) && !uses_pidns()) {
    // Killed by its own task, or by us because it was stuck: the remaining processes are now our children.
    task.keeper_failed = orphans_ = true;
    if (!task.killing) return kill_task(task);
  }
  if (task.pause_ns == 0) task.pause_ns = 10 * ms;
  if (task.killing && !task.keeper_failed) {
    task.reaped_at = boot_now().ns;
    if (reaped_.empty()) finish_by_ = task.reaped_at + longest_company;
    reaped_.push_back(task.serial);
    task.retry_at = never;
    return schedule(task);
  }
  if (!try_finish(task)) schedule(task);
}

void guardian::finish_reaped() {
  if (reaped_.empty()) return;
  const auto now = boot_now().ns;
  const auto is_dying = [&](const auto& entry) {
    const guarded_task& task = *entry.second;
    return task.killing && task.keeper > 0 && now < task.killed_at + dying_time;
  };
  if (now < finish_by_ && std::any_of(tasks_.begin(), tasks_.end(), is_dying)) return;
  for (std::size_t i = 0; i < most_finished_at_once && !reaped_.empty(); ++i) {
    if (auto at = tasks_.find(reaped_.front()); at != tasks_.end() && !try_finish(*at->second)) schedule(*at->second);
    reaped_.pop_front();
  }
  finish_by_ = reaped_.empty() ? never : now; // the rest behind the orders that have come meanwhile
}

bool guardian::try_finish(guarded_task& task) {
  if (task.keeper != 0) return false;
  if (task.keeper_failed && orphans_) return false;
  // The reason of a stop is the stop, whatever its limits say.
  if (has_limit(task.limits) && task.limit_met.empty() && !task.stopping) {
    const unique_fd own(
        task.has_cgroup ? ::openat(subtree_->descriptor(), task.cgroup_name().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)
                        : -1);
    task.limit_met = limiter_.exceeded(task.cgroup_name(), task.limits, own.get());
  }
  if (task.has_cgroup && remove_cgroup(subtree_->descriptor(), task.cgroup_name().c_str()) != 0) {
    // Just after the last process is reaped the kernel can need a moment; a process that was moved into the cgroup
    // needs a kill.
    if (task.retry_at == never) {
      task.retry_at = boot_now().ns + 1 * ms;
      task.pause_ns = 10 * ms;
    }
    task.reaped_at = never;
    return false;
  }
  if (has_limit(task.limits) && task.stopping) {
    limits_to_take_back_.emplace_back(task.cgroup_name(), task.limits);
  } else if (has_limit(task.limits)) {
    limiter_.end(task.cgroup_name());
  }
  const auto& known = task.known;
  const bool refused = known.exec == exec_state::failed && known.step != start_step::exec;
  const bool vanished = !known.held && known.exec == exec_state::unknown && !task.stopping;
  if (!task.refused.empty()) {
    say(task_spawn_failed{task.operation, task.refused});
  } else if (refused || vanished) {
    const bool by_worker = refused && known.step == start_step::fork && !task.limits.any_required();
    say(task_spawn_failed{task.operation,
                          refused ? setup_failure(known, task.directory)
                                  : "the task's keeper was killed before it was ready",
                          by_worker});
  } else {
    task_ended_here ended{task.operation, task.exit, task.sent, proof::group_empty};
    // The keeper was killed together with the leader and could not report how the leader ended: the same kill ended
    // both.
    const bool executed = known.exec == exec_state::succeeded || (known.exec == exec_state::unknown && known.held);
    if (executed && !ended.exit) ended.exit = exit_state{std::nullopt, "KILL"};
    if (uses_pidns()) ended.evidence = proof::pidns_gone;
    if (task.has_cgroup) ended.evidence = proof::cgroup_empty;
    ended.limit = std::move(task.limit_met);
    if (task.reaped_at != never) ended.ended_at = boot_time{task.reaped_at};
    if (!task.stopping) note_left(ended, task.known);
    say(ended);
  }
  mounts_.add(std::move(task.mounts));
  if (!mounts_.empty() || !limits_to_take_back_.empty()) {
    const auto now = boot_now().ns;
    if (tidy_at_ == never) tidy_by_ = now + longest_tidy_pause;
    tidy_at_ = std::min(now + tidy_pause, tidy_by_);
  }
  if (task.armed_at != never) timers_.erase({task.armed_at, task.serial});
  by_operation_.erase(task.operation);
  tasks_.erase(task.serial);
  return true;
}

void guardian::tidy() {
  constexpr int most_at_once = 16;
  for (int i = 0; i < most_at_once && !limits_to_take_back_.empty(); ++i) {
    const auto& [task, limits] = limits_to_take_back_.front();
    (void)limiter_.exceeded(task, limits, -1); // decides whether they can be lent again
    limiter_.end(task);
    limits_to_take_back_.pop_front();
  }
  mounts_.let_go();
  tidy_at_ = limits_to_take_back_.empty() ? never : boot_now().ns + ms;
}

void guardian::kill_orphans() {
  std::vector<pid_t> keepers;
  for (const auto& [pid, serial] : by_keeper_)
    if (!tasks_.at(serial)->keeper_failed) keepers.push_back(pid);
  std::sort(keepers.begin(), keepers.end());
  orphans_ = orphans_ && [&] {
    for (const pid_t pid : direct_children(::getpid()))
      if (!std::binary_search(keepers.begin(), keepers.end(), pid)) return true;
    return false;
  }();
  orphans_at_ = orphans_ ? boot_now().ns + 5 * ms : never;
  if (orphans_) return kill_descendants_once(keepers);
  std::vector<std::uint64_t> waiting;
  for (const auto& [serial, task] : tasks_)
    if (task->keeper_failed) waiting.push_back(serial);
  for (const auto serial : waiting)
    if (auto& task = *tasks_.at(serial); !try_finish(task)) schedule(task);
}

task_still_there guardian::describe(guarded_task& task, std::int64_t now) {
  task_still_there out;
  out.operation = task.operation;
  out.why = task.killing ? unproven_why::kill_in_flight : unproven_why::in_grace;
  std::vector<pid_t> pids;
  if (task.has_cgroup) {
    const unique_fd dir(::openat(subtree_->descriptor(), task.cgroup_name().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (dir) pids = cgroup_processes(dir.get(), 100'000);
  } else if (task.keeper > 0) {
    pids = descendants(task.keeper, 100'000);
  }
  if (task.has_cgroup && task.keeper > 0 && !uses_pidns() && pids.empty()) pids = descendants(task.keeper, 100'000);
  std::erase(pids, task.keeper);
  out.processes_total = static_cast<std::uint32_t>(pids.size());
  for (const pid_t pid : pids) {
    if (out.processes.size() == 20) break;
    auto view = view_of(pid);
    if (view.state.empty()) continue;
    if (task.killing) {
      const bool may_be_signalled = ::kill(pid, 0) == 0 || errno != EPERM;
      const auto why = why_not_ended(stat_of(pid), may_be_signalled);
      if (why != unproven_why::kill_in_flight) out.why = why;
    }
    out.processes.push_back(std::move(view));
  }
  if (task.killing) out.kill_again_at = boot_time{std::max(now, task.retry_at == never ? now : task.retry_at)};
  return out;
}

} // namespace quell::worker
