// Looks for guardians and keepers by their command line. Keepers are forked without exec and keep it: "quell-guardian
// SUBTREE LEVEL".
#include "worker/guardian/earlier_life.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>

#include "worker/guardian/processes.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

bool is_of_subtree(pid_t pid, const std::string& wanted) {
  const auto folder = "/proc/" + std::to_string(pid);
  const auto command = read_small_file(AT_FDCWD, (folder + "/cmdline").c_str(), 1024);
  if (command.starts_with(wanted)) return true;
  // An init that is dying has no command line any more, while the kernel still kills its namespace. It is none of ours
  // while another worker's guardian is its parent; an orphan of an earlier life has lost its guardian.
  if (!command.empty() || read_small_file(AT_FDCWD, (folder + "/comm").c_str(), 64) != "quell-init\n") return false;
  const auto parent = "/proc/" + std::to_string(stat_of(pid).parent) + "/cmdline";
  const auto parents = read_small_file(AT_FDCWD, parent.c_str(), 1024);
  return parents.starts_with(wanted) || !parents.starts_with(std::string("quell-guardian") + '\0');
}

pid_t find_other(const std::string& subtree) {
  const std::string wanted = std::string("quell-guardian") + '\0' + subtree + '\0';
  pid_t found = 0;
  DIR* dir = ::opendir("/proc");
  if (!dir) return 0;
  while (const dirent* entry = ::readdir(dir)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0 || pid == ::getpid() || !is_of_subtree(pid, wanted)) continue;
    const char state = stat_of(pid).state;
    if (state == 0 || state == 'Z' || state == 'X') continue;
    found = pid;
    break;
  }
  ::closedir(dir);
  return found;
}

} // namespace

result<void> await_earlier_life(const std::string& subtree, int limit_ms) {
  const auto end = boot_now() + std::chrono::milliseconds{limit_ms};
  for (int pause_ms = 2;; pause_ms = pause_ms < 50 ? pause_ms * 2 : 50) {
    const pid_t other = find_other(subtree);
    if (other == 0) return {};
    if (boot_now() >= end)
      return failure(
          "subtree_in_use",
          "another guardian of \"" + subtree + "\" lives (pid " + std::to_string(other) +
              "): a worker of the same name, or an earlier life whose tasks do not die; give each worker of a "
              "machine its own name, or look at what that process waits for");
    ::poll(nullptr, 0, pause_ms);
  }
}

} // namespace quell::worker
