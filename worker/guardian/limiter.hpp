// Limits of memory, processes and processor time for whole tasks: through the task's own cgroup if the v2 tree has the
// controllers, otherwise through directories in the v1 hierarchies. If neither is available, it says so.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "worker/guardian/client.hpp"
#include "worker/guardian/subtree.hpp"

namespace quell::worker {

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
  std::string exceeded(const std::string& task, const task_limits& wanted, int cgroup) const;
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
  };
  bool enable_v2(cgroup_subtree& subtree, const std::string& name, controller& c);
  void open_v1(const std::string& name, controller& c);

  std::array<controller, 3> controllers_{controller{"memory", "memory.max", "memory.limit_in_bytes", false, {}, {}, {}},
                                         controller{"pids", "pids.max", "pids.max", false, {}, {}, {}},
                                         controller{"cpu", "cpu.max", "cpu.cfs_quota_us", false, {}, {}, {}}};
  std::vector<std::string> leftovers_; ///< directories that were still busy
};

} // namespace quell::worker
