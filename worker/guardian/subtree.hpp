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
  /// Makes (or takes over) `<own cgroup>/<name>`: waits for an earlier guardian that is still busy killing, then kills
  /// and removes what an earlier life left there. At most `limit_ms` for each of the two.
  static result<std::unique_ptr<cgroup_subtree>> take(const std::string& name, int limit_ms);
  /// The worker's own cgroup.
  int parent() const { return parent_.get(); }
  int descriptor() const { return dir_.get(); }
  const std::string& path() const { return path_; }
  /// True if the directory was removed behind our back, for instance by somebody who tidies up.
  bool is_gone() const;
  /// Makes it again. 0 or errno.
  int make_again();
  /// Removes the empty directory.
  void remove();

 private:
  std::string path_;
  unique_fd parent_; ///< O_PATH: of before the sandbox, through which cgroups can be written
  unique_fd dir_;    ///< O_PATH
  std::string name_;
  unique_fd lock_;
};

} // namespace quell::worker
