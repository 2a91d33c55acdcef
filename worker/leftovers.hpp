// What earlier guardians of this worker may have left alive, and whether the controller knows of it.
//
// A guardian that ends by itself has seen the end of every task. One that was killed has not, and without a PID
// namespace nobody can look for the rest: what is not in the next hello is then not proven gone. That doubt is kept in
// the file `doubt` of the state directory until a session has begun with it, so that it survives any further death. It
// is written before the next guardian starts, whose good end would hide the bad one of the last.
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

  /// Before the first guardian of this process.
  void guardian_begins();
  void guardian_never_began();
  void guardian_began(bool earlier_ended);
  /// `cut_off`: what stood in the table then, which the controller hears of one by one.
  void guardian_died(std::vector<operation_id> cut_off);

  /// What a hello says.
  bool absence_is_proof() const { return !from_before_ && !died_here_; }
  /// A session has begun: the last hello was taken.
  void told();
  /// Results were stored: `is_forgotten` says which of those that were cut off are known to the controller for good.
  void forgotten(const std::function<bool(const operation_id&)>& is_forgotten);

 private:
  void keep() const;
  void drop() const;

  std::string path_, boot_;
  bool was_kept_ = false;    ///< the file was there before this process
  bool from_before_ = false; ///< an earlier life left something, and no hello of this one has been taken yet
  bool died_here_ = false;   ///< for the rest of this life
  std::vector<operation_id> cut_off_;
};

} // namespace quell::worker
