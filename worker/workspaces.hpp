// The workspaces of conversations on this worker: one directory each, below one directory of all.
//
//   NAME/        0700, the worker's own: no task sees it
//     files/     what the task sees as /workspace; belongs to the task's user
//     tmp/       what it sees as /tmp and /var/tmp
//     keep       milliseconds without use after which NAME is removed; its mtime is the last use
//   .removed/    what is being removed
//   .probe/      for the guardian
//
// A directory is removed by a rename under the same lock under which a task enters, so it is never removed while a task
// is in it, and a task that starts afterwards finds it gone. Measuring and deleting happen on a thread of its own.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/time.hpp"
#include "protocol/workspace_place.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

class workspaces {
 public:
  /// Makes `root` (0700) and clears what an earlier life was removing. Fault `bad_config`.
  static result<std::unique_ptr<workspaces>> open(const std::string& root);
  ~workspaces();

  /// From now on removes what was not used for long. Call it when no process of an earlier life is left.
  void remove_unused();

  const std::string& root() const { return root_; }

  /// Task `task` begins in this place: makes the directory if it may be new. Nullopt: the task enters none (`remove`).
  /// Faults: `workspace_gone`, `workspace_isolation` (another user's), `io_error`.
  result<std::optional<workspace_request>> begin(const operation_id& task, const workspace_place& place,
                                                 const std::optional<task_account>& as);
  /// The task is gone, with proof. Tasks that never began here change nothing.
  void ended(const operation_id& task);
  /// Every task is gone.
  void all_ended();

 private:
  struct entry {
    int live = 0;           ///< tasks in it
    bool doomed = false;    ///< remove it when none is left
    std::uint64_t used = 0; ///< bytes, as measured last
  };
  explicit workspaces(std::string root) : root_(std::move(root)) {}
  result<void> make(const workspace_place& place, const std::optional<task_account>& as) const;
  bool set_keep(const std::string& name, milliseconds keep) const;
  void leave(const operation_id& task);
  void remove(const std::string& name);
  void run();
  /// Removes what was not used for long; returns when to look again.
  std::chrono::milliseconds sweep();
  void measure_all();
  std::string path(const std::string& name) const { return root_ + "/" + name; }

  const std::string root_;
  std::mutex guard_;
  std::condition_variable wake_;
  std::map<std::string, entry> entries_; ///< those with tasks, or a known size
  std::map<operation_id, std::string> tasks_;
  std::set<std::string> to_measure_;
  bool has_removed_ = true, is_over_ = false, look_again_ = false, removes_unused_ = false;
  std::uint64_t removals_ = 0;
  std::thread thread_;
};

/// Bytes on the disk of everything below `path`, plus 512 for each entry; links are not followed. A tree of more than
/// 200 levels, or with a folder that is closed to its owner, counts as endless.
std::uint64_t bytes_below(const std::string& path);

} // namespace quell::worker
