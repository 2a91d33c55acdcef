// State directories of the quellds of this machine, as they announce them (protocol/state_marks.hpp): hidden from
// tasks.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quell::worker {

class announced_states {
 public:
  /// All of them whenever something has changed, else none, at the price of a few calls of `stat`. An announcement
  /// counts only if the directory belongs to who announced it and holds quelld's lock file: nobody can hide what is not
  /// theirs.
  std::vector<std::string> changed();

 private:
  void look_into(const std::string& folder, std::vector<std::string>& found);

  std::map<std::string, long long> seen_folders_; ///< by the instant of their last change, ns
};

} // namespace quell::worker
