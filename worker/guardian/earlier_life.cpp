// Finds dying inits in /proc, and kills processes that became children of this process as a subreaper.
//
// A dying init has no memory any more (statm is all zeros), which a living process cannot imitate: neither a name nor
// an empty command line proves it.
#include "worker/guardian/earlier_life.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "worker/guardian/keeper.hpp"
#include "worker/guardian/processes.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

bool is_orphaned_dying_init(pid_t pid) {
  const auto folder = "/proc/" + std::to_string(pid);
  if (read_small_file(AT_FDCWD, (folder + "/comm").c_str(), 64) != "quell-init\n") return false;
  const auto memory = read_small_file(AT_FDCWD, (folder + "/statm").c_str(), 128);
  if (memory.empty() || memory.find_first_not_of("0 \n") != std::string::npos) return false;
  const auto stat = stat_of(pid);
  if (stat.state == 0 || stat.state == 'Z' || stat.state == 'X') return false;
  // An init whose parent is another worker's guardian belongs to that guardian; an orphan of an earlier life has lost
  // its guardian.
  const auto parent = "/proc/" + std::to_string(stat.parent) + "/cmdline";
  const auto parents = read_small_file(AT_FDCWD, parent.c_str(), 1024);
  return !parents.starts_with(std::string("quell-guardian") + '\0');
}

pid_t find_dying_init() {
  pid_t found = 0;
  DIR* dir = ::opendir("/proc");
  if (!dir) return 0;
  while (const dirent* entry = ::readdir(dir)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0 || !is_orphaned_dying_init(pid)) continue;
    found = pid;
    break;
  }
  ::closedir(dir);
  return found;
}

} // namespace

result<void> await_dying_inits(int limit_ms) {
  const auto end = boot_now() + std::chrono::milliseconds{limit_ms};
  for (int pause_ms = 2;; pause_ms = std::min(pause_ms * 2, 50)) {
    const pid_t other = find_dying_init();
    if (other == 0) return {};
    if (boot_now() >= end)
      return failure("subtree_in_use", "a task of an earlier life does not die (its init is pid " +
                                           std::to_string(other) + "); look at what it waits for: /proc/" +
                                           std::to_string(other) + "/stack");
    ::poll(nullptr, 0, pause_ms);
  }
}

result<std::size_t> kill_own_children(int limit_ms) {
  int subreaper = 0;
  if (::prctl(PR_GET_CHILD_SUBREAPER, &subreaper) < 0 || subreaper == 0) return 0;
  std::size_t reaped = 0;
  const auto end = boot_now() + std::chrono::milliseconds{limit_ms};
  for (int pause_ms = 1;; pause_ms = std::min(pause_ms * 2, 50)) {
    kill_descendants_once({});
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, nullptr, WNOHANG)) > 0) ++reaped;
    if (pid < 0 && errno == ECHILD) return reaped;
    if (boot_now() >= end) {
      const auto left = descendants(::getpid(), 1);
      return failure("still_there", "a process of a task does not die: pid " +
                                        std::to_string(left.empty() ? 0 : left.front()) +
                                        "; look at what it waits for (/proc/PID/stack)");
    }
    ::poll(nullptr, 0, pause_ms);
  }
}

} // namespace quell::worker
