// Tracks what earlier guardians of this worker may have left alive, and whether the controller knows of it.
//
// A guardian that ends by itself has seen the end of every task. A guardian that was killed has not, and without a PID
// namespace its remaining processes cannot be found: a task missing from the next hello is then not proven gone. That
// doubt is kept in the file `doubt` of the state directory until a session has begun with it, so that it survives any
// further crash. The file is written before the next guardian starts, whose clean end would hide the last one's death.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "protocol/id.hpp"

namespace quell::worker {

class leftovers {
 public:
  /// `boot`: this boot's id; a doubt of another boot is over.
  leftovers(std::string directory, std::string boot);

  /// Call before the first guardian of this process.
  void guardian_begins();
  void guardian_never_began();
  /// `had_clean_end`: the guardian before it.
  void guardian_began(bool had_clean_end);
  /// `cut_off`: the tasks in the table at that time; the controller will be notified of each one.
  void guardian_died(std::vector<operation_id> cut_off);

  /// The value for the next hello.
  bool absence_is_proof() const { return !from_before_ && !died_here_; }
  /// A session has begun: the last hello was taken.
  void mark_reported();
  /// Results were stored: `is_forgotten` says whether the controller knows the result of a cut-off task for good.
  void forgotten(const std::function<bool(const operation_id&)>& is_forgotten);

 private:
  void keep() const;
  void drop() const;

  std::string path_, boot_;
  bool was_kept_ = false;    ///< the file was there before this process
  bool from_before_ = false; ///< an earlier life left processes, and no hello of this one has been accepted yet
  bool died_here_ = false;   ///< true for the rest of this life
  std::vector<operation_id> cut_off_;
};

} // namespace quell::worker
