// The state directories that the quellds of this machine announce (protocol/state_marks.hpp): hidden from tasks.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quell::worker {

class announced_states {
 public:
  /// Returns all of them if something has changed, otherwise none; costs a few calls of `stat`. An announcement counts
  /// only if its author owns the directory and the directory holds quelld's lock file, so no user can hide another
  /// user's directory.
  std::vector<std::string> changed();

 private:
  void look_into(const std::string& folder, std::vector<std::string>& found);

  std::map<std::string, long long> seen_folders_; ///< time of their last change, ns
};

} // namespace quell::worker
