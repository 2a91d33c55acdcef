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
// is in it, and a task that starts afterwards finds it gone. Measuring and looking for what was not used for long take
// turns on one thread (workspace_turns.hpp); deleting happens on another one.
//
// A workspace with a quota is measured after each task, and every few seconds while one runs: tasks that fill it beyond
// its quota are named to the session loop, which ends them. A task that only tidies up in a full one is let be. The
// workspaces of one guild can have a limit for all of them together, which is kept in the same way.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/time.hpp"
#include "protocol/workspace_place.hpp"
#include "worker/guardian/client.hpp"
#include "worker/remove_tree.hpp"
#include "worker/removed_trees.hpp"
#include "worker/workspace_turns.hpp"

namespace quell::worker {

/// The contents of a workspace, counted.
struct workspace_use {
  std::uint64_t bytes = 0;   ///< on the disk, plus 512 for each entry
  std::uint64_t entries = 0; ///< files, folders and links
};

/// The most entries of a workspace with this quota: one for each 4 KiB of it, and at least 1,024.
std::uint64_t most_entries(std::uint64_t quota_bytes);

class guild_bytes;

class workspaces {
 public:
  /// Makes `root` (0700) and clears what an earlier life was removing. Fault `bad_config`. `most_of_guild`: bytes that
  /// the workspaces of one guild may hold together; 0 = no limit. `empties` deletes what was removed.
  static result<std::unique_ptr<workspaces>> open(const std::string& root, std::uint64_t most_of_guild = 0,
                                                  removed_trees::emptying empties = empty_folder);
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

  struct filling {
    operation_id task;
    std::string why; ///< a sentence for the task's end
  };
  /// Tasks that have filled their workspace beyond its quota, or their guild's beyond its limit, each once. Cheap while
  /// there are none.
  std::vector<filling> take_filling();

 private:
  using steady_time = std::chrono::steady_clock::time_point;
  struct entry {
    std::set<operation_id> tasks; ///< in it
    bool doomed = false;          ///< remove it when none is left
    bool is_measured = false;     ///< `used` is known
    workspace_use used{};         ///< as measured last
    std::uint64_t charged = 0;    ///< bytes that its guild holds with it
    std::uint64_t quota = 0;      ///< of the task that began last; 0 = none
  };
  struct inside {
    std::string name;
    bool had_room = false;    ///< it began while the workspace was known to be within its quota
    bool is_reported = false; ///< it was named to the session loop, or does not enter the workspace
    steady_time since{};
    std::optional<workspace_use> first{}; ///< the first that was measured since it began; if it had no room
  };
  workspaces(std::string root, std::uint64_t most_of_guild);
  result<void> make(const workspace_place& place, const std::optional<task_account>& as) const;
  bool set_keep(const std::string& name, milliseconds keep) const;
  void leave(const operation_id& task);
  void remove(const std::string& name);
  void run();
  /// Removes what was not used for long; returns when to look again.
  std::chrono::milliseconds sweep();
  void measure_all();
  /// Under `lock`, which it gives up while it measures.
  void measure(const std::string& name, std::unique_lock<std::mutex>& lock);
  /// `from`: when measuring began.
  void look_for_filling(const std::string& name, const entry& now, steady_time from);
  /// It holds this now.
  void note_use(const std::string& name, entry& of, const workspace_use& used, std::uint64_t quota);
  /// Plans the next look, if there must be one.
  void look_again(const std::string& name, const entry& one, steady_time at);
  std::string path(const std::string& name) const { return root_ + "/" + name; }

  /// It is measured while tasks are in it.
  bool is_watched(const entry& one) const { return one.quota > 0 || most_of_guild_ > 0; }

  const std::string root_;
  const std::uint64_t most_of_guild_;
  std::mutex guard_;
  std::condition_variable wake_;
  std::map<std::string, entry> entries_; ///< those with tasks, or a known size
  const std::unique_ptr<guild_bytes> of_guilds_;
  std::map<operation_id, inside> tasks_;
  workspace_turns turns_;
  std::string measuring_; ///< "" = none
  std::vector<filling> filling_;
  std::atomic<bool> has_filling_ = false;
  bool is_over_ = false, removes_unused_ = false;
  std::uint64_t removals_ = 0;
  std::unique_ptr<removed_trees> removed_;
  std::thread thread_;
};

/// Everything below `path`; links are not followed. A tree of more than 200 levels, or with a folder that is closed to
/// its owner, has endless bytes. Counting ends behind `most_counted` entries.
workspace_use use_below(const std::string& path, std::uint64_t most_counted = ~0ULL);

} // namespace quell::worker
