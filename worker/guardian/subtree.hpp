// The directory of one worker in the cgroup tree: locked for a guardian's life, cleared at its start, removed at its
// end.
#pragma once

#include <memory>
#include <string>

#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

class cgroup_subtree {
 public:
  /// Makes (or takes over) `<own cgroup>/<name>`: waits for an earlier guardian that is still killing, then kills and
  /// removes what an earlier one left there. At most `limit_ms` for each of the two.
  static result<std::unique_ptr<cgroup_subtree>> take(const std::string& name, int limit_ms);
  /// The worker's own cgroup.
  int parent() const { return parent_.get(); }
  int descriptor() const { return dir_.get(); }
  const std::string& path() const { return path_; }
  /// True if the directory was removed by another process, for instance a cleanup job.
  bool is_gone() const;
  /// Makes it again. 0 or errno.
  int make_again();
  /// Removes the empty directory.
  void remove();

 private:
  std::string path_;
  unique_fd parent_; ///< O_PATH: from before the sandbox, so cgroups can be written through it
  unique_fd dir_;    ///< O_PATH
  std::string name_;
  unique_fd lock_;
};

} // namespace quell::worker
