// Which worker holds the workspace of a conversation: one small file each below the state directory, written before the
// first task of the workspace is created. So a restart knows it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"

namespace quell::controller::turns {

struct workspace_row {
  std::string key;    ///< the scope, or `turn ID`
  std::string worker; ///< holds it
  std::string name;   ///< of its directory there
  bool used = false;  ///< a task has begun in it
  std::string lost;   ///< why the files of the workspace before it are gone, for the model; "" = there was none
  wall_time used_at{};
  milliseconds keep{0}; ///< it is dropped after so long without use; 0 = never
  friend bool operator==(const workspace_row&, const workspace_row&) = default;
};

/// The key of a turn's own workspace.
std::string key_of_turn(const std::string& turn);

/// Any thread; waits for the disk.
class workspace_rows {
 public:
  /// Makes `directory`/workspaces; "" = nothing is kept on disk.
  static result<std::shared_ptr<workspace_rows>> open(const std::string& directory);

  std::optional<workspace_row> find(const std::string& key) const;
  /// Durable when it returns.
  result<void> put(const workspace_row& row);
  void drop(const std::string& key);
  std::vector<workspace_row> all() const;

  /// A turn may get a workspace of its own. Before that a turn's end need not look for one.
  void expect_of_turns() { has_of_turns_ = true; }
  bool has_of_turns() const { return has_of_turns_; }

 private:
  std::string path_of(const std::string& file) const;

  std::string directory_;
  std::atomic<bool> has_of_turns_{false}; ///< perhaps
  mutable std::mutex guard_;
  std::unordered_set<std::string> files_;     ///< those in the directory, so that a key without one asks no disk
  std::map<std::string, workspace_row> kept_; ///< without a directory
};

} // namespace quell::controller::turns
