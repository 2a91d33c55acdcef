// A task's own view of the file system, for a task in a workspace of its conversation: the workspace at /workspace, a
// private /tmp, /var/tmp, /dev/shm and /dev/pts, and everything else read-only. Other workspaces are not in it, and
// nothing that the task writes can be seen by a task of another conversation.
//
// The leader builds it before it changes its user: a mount namespace of its own with a new root (a small tmpfs) into
// which the folders of the old root are bound. Where the worker may not mount, a user namespace comes first; then a
// process of another workspace cannot enter it by /proc either, because it lies in another user namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quell::worker {

/// How this guardian can make such a view.
enum class view_means : std::uint8_t { none, mounts, user_namespace };

/// Points into the guardian's memory, of which a leader has a copy.
struct workspace_orders {
  bool wanted = false;
  view_means means = view_means::none;
  int files = -1, scratch = -1; ///< with `mounts`: detached mounts of the workspace and of its /tmp
  const char* root = nullptr;   ///< with `user_namespace`: the directory of all workspaces
  const char* name = nullptr;   ///< the task's own below it
  /// With `user_namespace`: directories with secrets, which the guardian could not cover.
  const std::vector<std::string>* hidden = nullptr;
  std::uint64_t file_limit = ~0ULL; ///< bytes that one file can have; ~0: no limit
  const char* notice = "";          ///< printed on stderr before the command
};

/// Detached copies of `name`/files and `name`/tmp below the open directory `root`; -1 with errno. For `mounts`.
struct detached_pair {
  int files = -1, scratch = -1;
};
detached_pair detach_workspace(int root, const std::string& name);

/// In the leader, as its first step that looks at the file system. False with errno.
bool enter_workspace(const workspace_orders& orders);

/// Tries it with the directory `.probe` of `root` (its path, and open as `descriptor`) in a child; 0 or an errno.
int probe_workspace(view_means means, const std::string& root, int descriptor);

} // namespace quell::worker
