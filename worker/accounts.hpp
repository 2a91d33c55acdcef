// The users as whom this worker runs tasks: its own user, and those that its configuration permits. They are looked up
// once, at the start: a look-up can wait for a network, and the loop must not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

class account_table {
 public:
  struct entry {
    task_account account;
    std::string name, home;
    bool is_own = false; ///< the worker's own user: no change of user
  };
  /// Knows only the worker's own user.
  account_table() = default;
  /// `usual`: the user for tasks that name none; the worker's own user must then be permitted like any other. Fault
  /// `bad_config`: an unknown user, or one other than the worker's own while the worker does not run as root.
  static result<account_table> look_up(const std::vector<std::string>& permitted,
                                       const std::optional<std::string>& usual = {});

  /// The account for a task that asks for `user`; nullptr: the worker's own user, whether asked for or not. Fault
  /// `not_permitted` says what to do.
  result<const entry*> find(const std::optional<std::string>& user) const;

 private:
  std::map<std::string, entry> entries_;
  std::optional<std::string> usual_;
};

} // namespace quell::worker
