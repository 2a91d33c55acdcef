// Limits of memory, processes and processor time for whole tasks: through the task's own cgroup if the v2 tree has the
// controllers, otherwise through directories in the v1 hierarchies: one of the task's own for a limit that it asked
// for, a spare one for the worker's default. If neither is available, it says so.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "worker/guardian/client.hpp"
#include "worker/guardian/spare_directories.hpp"
#include "worker/guardian/subtree.hpp"

namespace quell::worker {

/// True if a limit was asked for: the limiter has nothing to do for other tasks.
inline bool has_limit(const task_limits& wanted) {
  return wanted.memory_bytes != 0 || wanted.pids != 0 || wanted.cpu_millis != 0;
}

class limiter {
 public:
  /// `subtree` can be null; `uses_cgroup`: tasks are born in it. Appends a sentence to `limits` for each resource that
  /// cannot be limited here.
  void prepare(cgroup_subtree* subtree, const std::string& name, bool uses_cgroup, std::vector<std::string>& limits);

  /// Before the task's first process: makes and fills the directories that `wanted` needs. Returns "" or a sentence: a
  /// limit that was asked for cannot be enforced here. `cgroup`: the task's directory in the v2 tree or -1.
  std::string begin(const std::string& task, const task_limits& wanted, int cgroup);
  /// Adds the task's first process before it runs. Returns "" or why it is not limited.
  std::string enter(const std::string& task, pid_t leader);
  /// Before its cgroups are removed: a sentence that names the limit that the task exceeded, or "". `cgroup` as in
  /// `begin`.
  std::string exceeded(const std::string& task, const task_limits& wanted, int cgroup);
  /// The task has ended or never began.
  void end(const std::string& task);
  /// Removes the remaining directories, at the guardian's end.
  void remove(const std::string& name);

 private:
  struct controller {
    std::string_view name, v2_file, v1_file;
    bool in_v2 = false;
    unique_fd v1_parent, v1; ///< own directory, and the worker's below it
    std::string why_not;
    spare_directories spare;
  };
  /// A task's directories in the v1 hierarchies.
  struct places {
    std::array<std::string, 3> directory; ///< by controller; "" = none
    std::array<bool, 3> lent{};
    bool spoilt = false; ///< counters of the lent ones show this task's excess
  };
  bool enable_v2(cgroup_subtree& subtree, const std::string& name, controller& c);
  void open_v1(const std::string& name, controller& c);

  std::array<controller, 3> controllers_{
      controller{"memory",
                 "memory.max",
                 "memory.limit_in_bytes",
                 false,
                 {},
                 {},
                 {},
                 {"memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}},
      controller{"pids", "pids.max", "pids.max", false, {}, {}, {}, {"pids", "pids.max", ""}},
      controller{"cpu", "cpu.max", "cpu.cfs_quota_us", false, {}, {}, {}, {"cpu", "cpu.cfs_quota_us", ""}}};
  std::unordered_map<std::string, places> tasks_; ///< that have a directory in a v1 hierarchy
  std::vector<std::string> leftovers_;            ///< directories that were still busy
};

} // namespace quell::worker
