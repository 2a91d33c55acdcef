// Kills a tree without a cgroup or a namespace, by the means of a subreaper, which finds every descendant but races
// against forks.
//
// All processes are first stopped and then killed, so that none sees another die and reacts. A process is stopped
// *before* its children are read: the kernel abandons a fork that is under way when the signal is queued, so the list
// is complete from then on, and one walk from the top finds every connected process. A process that loses its parent
// meanwhile becomes our own child: our list is read again until it yields nothing new.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <unordered_set>
#include <utility>

#include "worker/guardian/keeper.hpp"
#include "worker/guardian/processes.hpp"

namespace quell::worker {
namespace {

class killing_walk {
 public:
  explicit killing_walk(const std::vector<pid_t>& but_not) : but_not_(but_not), self_(::getpid()) {}

  void run() {
    for (int pass = 0; pass < 20; ++pass)
      if (!walk()) break;
    // A stopped process cannot end, and its parent cannot reap it: the pids still mean the same processes.
    for (const pid_t pid : stopped_) ::kill(pid, SIGKILL);
    // In a tree in which each parent forks and exits, the living process is always one of our own children: the path to
    // it is short, and the race is won often enough.
    for (int pass = 0; pass < 20; ++pass) {
      bool fresh = false;
      for (const pid_t pid : direct_children(self_))
        if (!excepted(pid) && seen_.insert(pid).second) fresh = ::kill(pid, SIGKILL) == 0 || fresh;
      if (!fresh) break;
    }
  }

 private:
  bool excepted(pid_t pid) const { return std::binary_search(but_not_.begin(), but_not_.end(), pid); }

  /// True if it found a new process.
  bool walk() {
    bool fresh = false;
    std::vector<std::pair<pid_t, pid_t>> open; // process and parent
    for (const pid_t pid : direct_children(self_)) open.emplace_back(pid, self_);
    std::vector<pid_t> children;
    while (!open.empty()) {
      const auto [pid, parent] = open.back();
      open.pop_back();
      if (excepted(pid) || !seen_.insert(pid).second) continue;
      int threads = 2;
      if (!stop(pid, parent, threads)) continue;
      fresh = true;
      stopped_.push_back(pid);
      children.clear();
      children_of(pid, threads, children);
      for (const pid_t child : children) open.emplace_back(child, pid);
    }
    return fresh;
  }

  /// Only we reap our own children, so their pids are safe. For others a pidfd pins the pid during the check.
  bool stop(pid_t pid, pid_t parent, int& threads) {
    if (parent == self_) {
      if (::kill(pid, SIGSTOP) < 0) return false;
      const auto stat = stat_of(pid);
      threads = stat.threads;
      return stat.state != 'Z' || threads > 1;
    }
    return signal_checked(pid, SIGSTOP, [&](pid_t) {
             const auto stat = stat_of(pid);
             threads = stat.threads;
             return stat.state != 0 && (stat.parent == parent || stat.parent == self_ || descends_from(stat.parent));
           }) == 0;
  }

  bool descends_from(pid_t pid) const {
    for (int depth = 0; depth < 4096 && pid > 1; ++depth) {
      if (pid == self_) return true;
      pid = stat_of(pid).parent;
    }
    return false;
  }

  const std::vector<pid_t>& but_not_;
  pid_t self_;
  std::unordered_set<pid_t> seen_;
  std::vector<pid_t> stopped_;
};

} // namespace

void kill_descendants_once(const std::vector<pid_t>& but_not) { killing_walk(but_not).run(); }

} // namespace quell::worker
