// The users that this worker runs tasks as: its own, and those that its configuration permits. Looked up once, at the
// start: a look-up may wait for a network, and the loop may not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

class account_book {
 public:
  struct entry {
    task_account account;
    std::string name, home;
    bool is_own = false; ///< the worker's own user: nothing to change
  };
  /// Only its own user is known.
  account_book() = default;
  /// `usual`: who runs what asks for nobody; the worker's own user is then one that must be permitted like others.
  /// Fault `bad_config`: an unknown user, or one that is not the worker's own while it does not run as root.
  static result<account_book> look_up(const std::vector<std::string>& permitted,
                                      const std::optional<std::string>& usual = {});

  /// What a task that asks for this user runs as; nullptr: the worker's own user, asked for or not. Fault
  /// `not_permitted` with what to do.
  result<const entry*> find(const std::optional<std::string>& user) const;

 private:
  std::map<std::string, entry> entries_;
  std::optional<std::string> usual_;
};

} // namespace quell::worker
