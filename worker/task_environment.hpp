// The environment of a task: the worker's base, the task's own variables, and QUELL_… on top (SURFACE 13).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "protocol/messages.hpp"
#include "worker/accounts.hpp"

namespace quell::worker {

class task_environment {
 public:
  using variables = std::map<std::string, std::string>;
  /// `base`: PATH, HOME, USER, LANG, TMPDIR from the worker's own environment, overridden by the configured variables.
  /// `tools`: a directory to put in front of PATH ("" = none).
  task_environment(variables base, std::string tools);

  /// The part of the worker's own environment that a task gets, with defaults filled in.
  static variables base_of(const variables& own);

  /// Complete "K=V" list. A name that is empty or contains `=` or NUL is omitted. Our QUELL_… variables always take
  /// precedence. `as`: a user other than the worker's own, whose HOME, USER and LOGNAME are set.
  std::vector<std::string> of(const wire::start& order, const std::string& worker, const std::string& relay_url,
                              const account_table::entry* as = nullptr) const;

 private:
  variables base_;
};

/// `2026-11-20T09:51:07.123Z`
std::string rfc3339(wall_time at);

} // namespace quell::worker
