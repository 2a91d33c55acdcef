// The keeper's life: set up, fork the leader, reap, obey, and kill the task if the guardian dies.
#include "worker/guardian/keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/client.hpp"
#include "worker/guardian/processes.hpp"
#include "worker/guardian/sandbox.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

void wake(int) {}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool can_lend_memory = false; // the sanitizer takes the borrowed stack for an error
#else
constexpr bool can_lend_memory = true;
#endif

/// Fixed numbers of a keeper's descriptors; the guardian keeps them occupied, so that no needed descriptor has one of
/// them.
enum place : int { channel = 3, hold, in, out, err, cgroup, life, files, scratch, first_secret };
static_assert(first_secret + most_secrets <= reserved_descriptors);

class keeper {
 public:
  explicit keeper(const keeper_orders& orders) : orders_(orders) {}

  [[noreturn]] void run() {
    take_over();
    start_leader();
    while (true) {
      reap();
      if (no_children_) ::_exit(0);
      wait();
    }
  }

 private:
  bool is_init() const { return orders_.level == containment::pidns || orders_.level == containment::cgroup_pidns; }

  [[noreturn]] void fail(start_step step, int error) {
    known_.exec = exec_state::failed;
    known_.step = step;
    known_.error = error;
    known_.code = 126;
    tell();
    ::_exit(1);
  }

  void tell() { ::send(orders_.channel, &known_, sizeof known_, MSG_NOSIGNAL); }

  void put(int& fd, int to) {
    if (fd < 0) return;
    if (::dup2(fd, to) < 0) ::_exit(1);
    fd = to;
  }

  void take_over() {
    put(orders_.channel, channel);
    put(orders_.hold, hold);
    put(orders_.in, in);
    put(orders_.out, out);
    put(orders_.err, err);
    // The init is in the cgroup itself and does not need its descriptor.
    if (is_init())
      ::close(cgroup);
    else
      put(orders_.cgroup, cgroup);
    put(orders_.life, life);
    put(orders_.workspace.files, files);
    put(orders_.workspace.scratch, scratch);
    for (std::size_t i = 0; i < orders_.secret_count; ++i) {
      secrets_[i] = orders_.secrets[i];
      put(secrets_[i], first_secret + static_cast<int>(i));
    }
    orders_.secrets = secrets_.data();
    ::close_range(first_secret + static_cast<unsigned>(orders_.secret_count), ~0U, 0);

    struct sigaction on_child {};
    on_child.sa_handler = wake;
    ::sigaction(SIGCHLD, &on_child, nullptr);
    ::sigaction(SIGTERM, &on_child, nullptr);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);

    // SIGKILL ends an init and with it the namespace. A subreaper must survive to kill its descendants.
    ::prctl(PR_SET_PDEATHSIG, is_init() ? SIGKILL : SIGTERM);
    ::prctl(PR_SET_NAME, is_init() ? "quell-init" : "quell-keeper");
    if (!is_init()) {
      ::prctl(PR_SET_CHILD_SUBREAPER, 1);
      if (::getppid() != orders_.guardian) ::_exit(1);
      return;
    }
    // A separate /proc, visible to this namespace only.
    const bool is_root = ::geteuid() == 0 && (!orders_.changes_user || orders_.uid == 0);
    if (!orders_.confinement->mount_proc(is_root)) fail(start_step::mount, errno);
  }

  /// An init has nothing to do until its leader executes: a stop before the go kills both. So it lends the leader its
  /// memory and sleeps meanwhile (CLONE_VFORK; the kernel still lets SIGKILL through), which spares the copy. A view of
  /// its own needs more than the borrowed stack.
  bool lends_memory() const {
    return can_lend_memory && orders_.memory_can_be_lent && is_init() && !orders_.workspace.wanted;
  }

  void start_leader() {
    if (lends_memory())
      lend_to_leader();
    else
      fork_leader();
    ::close_range(hold, err, 0);
    ::close_range(files, scratch, 0);
    if (orders_.secret_count > 0)
      ::close_range(first_secret, first_secret + static_cast<unsigned>(orders_.secret_count) - 1, 0);
  }

  void fork_leader() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) fail(start_step::fork, errno);
    exec_pipe_ = ends[0];
    const pid_t self = ::getpid();
    const pid_t pid = clone_process(0, is_init() ? -1 : orders_.cgroup);
    if (pid == 0) run_leader(orders_, self, {ends[1], nullptr});
    if (pid < 0) fail(start_step::fork, -pid);
    leader_ = pid;
    ::close(ends[1]);
  }

  /// Returns when the leader has executed or is dying.
  void lend_to_leader() {
    alignas(64) static std::array<char, 64 * 1024> stack;
    const pid_t pid = ::clone([](void* self) -> int { static_cast<keeper*>(self)->be_leader(); },
                              stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, this);
    if (pid < 0) fail(start_step::fork, errno);
    leader_ = pid;
    if (failure_) return note_failure(*failure_);
    // Before its exec a leader exits only with a failure.
    siginfo_t end{};
    const bool exited = ::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                        end.si_pid == pid && end.si_code == CLD_EXITED;
    note_exec(exited);
  }

  [[noreturn]] void be_leader() { run_leader(orders_, 1, {-1, &failure_}); }

  void note_failure(const exec_failure& failure) {
    known_.exec = failure.never ? exec_state::never : exec_state::failed;
    known_.step = failure.step;
    known_.error = failure.error;
    known_.code = failure.code;
    changed_ = true;
  }

  /// A killed process frees its memory and closes its pipes before it can be waited for, so only the kernel's own
  /// record tells whether it had executed.
  void note_exec(bool certain) {
    known_.exec = !certain && never_executed(leader_) ? exec_state::never : exec_state::succeeded;
    changed_ = true;
  }

  /// Reads the leader's report about its exec; end of file means that exec closed the pipe, or that the leader died
  /// before it.
  void settle_exec() {
    if (exec_pipe_ < 0) return;
    exec_failure failure;
    ssize_t got = 0;
    while ((got = ::read(exec_pipe_, &failure, sizeof failure)) < 0 && errno == EINTR) {
    }
    if (got == static_cast<ssize_t>(sizeof failure))
      note_failure(failure);
    else
      note_exec(false);
    ::close(exec_pipe_);
    exec_pipe_ = -1;
  }

  void reap() {
    while (true) {
      siginfo_t next{};
      if (::waitid(P_ALL, 0, &next, WEXITED | WNOHANG | (known_.exited ? 0 : WNOWAIT)) < 0) {
        no_children_ = errno == ECHILD;
        break;
      }
      if (next.si_pid == 0) break;
      reaped_ = true;
      if (known_.exited) continue;
      if (next.si_pid == leader_) settle_exec(); // while it is a zombie and its record can still be read
      int status = 0;
      ::waitpid(next.si_pid, &status, 0);
      if (next.si_pid != leader_) continue;
      known_.exited = true;
      known_.wait_status = status;
      changed_ = true;
      if (orders_.leader_exit == on_leader_exit::kill) {
        note_left();
        tell();
        changed_ = false;
        kill_the_rest();
      }
    }
    if (changed_) tell();
    changed_ = false;
  }

  /// Lists what the leader leaves behind, before it is killed. A snapshot: a tree that forks can have more.
  void note_left() {
    if (killing_) return; // a stop came first
    const auto pids = orders_.cgroup >= 0 && !is_init() ? cgroup_processes(orders_.cgroup, most_left_counted)
                                                        : descendants(::getpid(), most_left_counted);
    for (const pid_t pid : pids) {
      if (pid == leader_) continue;
      const auto view = view_of(pid);
      if (view.state.empty() || view.state == "Z" || view.state == "X") continue;
      if (known_.left_total < most_left_reported) {
        auto& left_process = known_.left[known_.left_total];
        left_process.pid = pid;
        left_process.state = view.state.front();
        view.command.copy(left_process.command, sizeof left_process.command - 1);
      }
      ++known_.left_total;
    }
  }

  void kill_the_rest() {
    if (is_init()) ::_exit(0); // the kernel kills a namespace whose init exits
    if (orders_.cgroup >= 0) kill_cgroup(orders_.cgroup);
    if (killing_) return;
    killing_ = true;
    next_round_ = boot_now() + std::chrono::milliseconds{orders_.cgroup >= 0 ? 20 : 0};
  }

  void wait() {
    pollfd fds[2] = {{guardian_gone_ ? -1 : int{channel}, POLLIN, 0}, {exec_pipe_, POLLIN, 0}};
    sigset_t open;
    ::sigfillset(&open);
    ::sigdelset(&open, SIGCHLD);
    ::sigdelset(&open, SIGTERM);
    const auto left = std::max(next_round_ - boot_now(), std::chrono::nanoseconds{0}).count();
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    const int ready = ::ppoll(fds, 2, killing_ ? &limit : nullptr, &open);
    // SIGTERM is the parent-death signal here; from any other sender it is ignored.
    if (!is_init() && !guardian_gone_ && ::getppid() != orders_.guardian) guardian_left();
    if (ready > 0 && fds[1].revents) settle_exec();
    if (ready > 0 && fds[0].revents) obey();
    // By the clock, not by the time-out: a tree that dies and forks endlessly interrupts every wait.
    if (killing_ && boot_now() >= next_round_) kill_round();
  }

  void guardian_left() {
    if (is_init()) ::_exit(1);
    guardian_gone_ = true;
    kill_the_rest();
  }

  void kill_round() {
    const auto began = boot_now();
    std::chrono::nanoseconds pause = std::chrono::milliseconds{rounds_ < 200 ? 1 : 100};
    if (orders_.cgroup >= 0) {
      kill_cgroup(orders_.cgroup);
      pause = std::chrono::milliseconds{std::clamp(rounds_ * 20, 20, 1000)};
    }
    // At the cgroup level only processes that left the cgroup remain to be found: no walk while killed processes are
    // being reaped.
    if (orders_.cgroup < 0 || (!reaped_ && !cgroup_populated(orders_.cgroup))) kill_descendants_once({});
    reaped_ = false;
    ++rounds_;
    // Killed processes need time to die and be reaped: at least as much as the killing took.
    const auto end = boot_now();
    next_round_ = end + std::max(pause, end - began);
  }

  void obey() {
    keeper_command command;
    const ssize_t got = ::recv(channel, &command, sizeof command, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return guardian_left();
    if (got != static_cast<ssize_t>(sizeof command)) return;
    switch (command.act) {
    case keeper_command::what::signal:
      pass_on(command.signal);
      break;
    case keeper_command::what::kill:
      kill_the_rest();
      break;
    }
  }

  void pass_on(int signal) {
    if (is_init()) {
      ::kill(-1, signal); // everything in the namespace except this process, in one step
      ::kill(-1, SIGCONT);
      return;
    }
    if (orders_.cgroup >= 0) {
      pass_on_to(cgroup_processes(orders_.cgroup, 1'000'000), signal, [&](pid_t pid) { return in_cgroup(pid); });
      return;
    }
    pass_on_to(descendants(::getpid(), 1'000'000), signal, [](pid_t) { return true; });
  }

  template <class StillOurs>
  void pass_on_to(const std::vector<pid_t>& pids, int signal, StillOurs ours) {
    for (const pid_t pid : pids) {
      signal_checked(pid, signal, ours);
      signal_checked(pid, SIGCONT, ours);
    }
  }

  bool in_cgroup(pid_t pid) {
    if (own_path_.empty()) {
      // The leader was created in it, but can have left: the directory's name is authoritative.
      char link[64], target[4096];
      std::snprintf(link, sizeof link, "/proc/self/fd/%d", orders_.cgroup);
      const ssize_t size = ::readlink(link, target, sizeof target);
      if (size > 0) own_path_.assign(target, static_cast<std::size_t>(size));
      own_path_.erase(0, own_path_.rfind('/') + 1);
      own_path_.insert(0, "/");
    }
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    const auto text = read_small_file(AT_FDCWD, path);
    const auto at = text.find("0::");
    if (at == std::string::npos) return false;
    const auto line = text.substr(at + 3, text.find('\n', at) - at - 3);
    const auto found = line.find(own_path_);
    return found != std::string::npos &&
           (found + own_path_.size() == line.size() || line[found + own_path_.size()] == '/');
  }

  keeper_orders orders_;
  std::array<int, most_secrets> secrets_{};
  keeper_report known_;
  std::optional<exec_failure> failure_; ///< written by a leader that uses this memory
  pid_t leader_ = 0;
  int exec_pipe_ = -1;
  bool changed_ = false, reaped_ = false, no_children_ = false, killing_ = false, guardian_gone_ = false;
  boot_time next_round_;
  int rounds_ = 0;
  std::string own_path_;
};

} // namespace

void run_keeper(const keeper_orders& orders) { keeper(orders).run(); }

} // namespace quell::worker
