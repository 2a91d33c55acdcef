// Reads processes through /proc: descendants, and the view of them that people see.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/task.hpp"

namespace quell::worker {

/// All living descendants of `root` (without itself), parents before children, at most `limit`. Zombies are omitted. A
/// snapshot: processes forked meanwhile can be missing. `but_not` (sorted) and everything below them are omitted.
std::vector<pid_t> descendants(pid_t root, std::size_t limit, const std::vector<pid_t>& but_not = {});

/// The direct children of a single-threaded process, including zombies. On a kernel without children files: all
/// descendants.
std::vector<pid_t> direct_children(pid_t pid);

/// State letter and command line (at most 200 bytes) of a process; empty state if it is gone.
process_view view_of(pid_t pid);

/// Sends `signal` to a process through a pidfd, if `still_ours(pid)` holds while the pidfd prevents the pid from being
/// reused. 0, or the errno (ESRCH: gone or not ours).
template <class StillOurs>
int signal_checked(pid_t pid, int signal, StillOurs still_ours);

/// pidfd_open, or -errno.
int open_pidfd(pid_t pid);
int signal_pidfd(int pidfd, int signal);
void close_fd(int fd);

template <class StillOurs>
int signal_checked(pid_t pid, int signal, StillOurs still_ours) {
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) return -pidfd;
  const int error = still_ours(pid) ? signal_pidfd(pidfd, signal) : 3 /* ESRCH */;
  close_fd(pidfd);
  return error;
}

struct process_stat {
  char state = 0; ///< 0: the process no longer exists
  pid_t parent = 0;
  unsigned flags = 0;
  int threads = 0;
};
process_stat stat_of(pid_t pid);
/// The text of a /proc/PID/stat; state 0: it is not one.
process_stat parse_stat(std::string_view line);
/// The pid of the process's tracer (ptrace); 0: no tracer, or the process no longer exists.
pid_t tracer_of(pid_t pid);

/// Why a process is still there after a SIGKILL: it sleeps in the kernel, unreachable for signals; or it may not be
/// signalled; or the kill is under way. A process that is exiting sleeps in the kernel, too.
unproven_why why_not_ended(const process_stat& s, bool may_be_signalled);

/// Appends the children of a process with this many threads.
void children_of(pid_t pid, int threads, std::vector<pid_t>& out);

/// How far a forked process has come towards its program.
enum class exec_progress : std::uint8_t { executed, under_way, never };
/// By the kernel's own record, which a zombie keeps. `under_way`: it may still execute, or be killed before.
exec_progress exec_progress_of(const process_stat& s);
/// True if the process has ended, or is ending, without an exec since it was forked. Waits while that is not decided:
/// an exec wakes a parent that lent its memory (CLONE_VFORK) some steps before the kernel records it. `pid` as in the
/// mounted /proc; `look` reads its record.
bool never_executed(pid_t pid, process_stat (*look)(pid_t) = stat_of);

} // namespace quell::worker
