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
  /// Lists the users' runtime directories if one has come or gone.
  void look_for_users();

  std::vector<std::string> folders_of_users_;
  long long users_seen_ = 0;                      ///< time of the last change of the directory of users, ns
  std::map<std::string, long long> seen_folders_; ///< time of their last change, ns
};

} // namespace quell::worker
