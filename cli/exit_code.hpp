// Exit codes (SURFACE 12): the only place that maps each ending to a number. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "cli/problem.hpp"

namespace quell::cli {

/// The end of a command, with its number for the shell. `run` and `wait` also pass on the code of a task, which can be
/// any number, named here or not. Man page and `quell help errors` list the same numbers (tests/house).
enum class exit_code : std::uint8_t {
  done = 0,
  refused = 1,
  usage = 2,
  nothing = 3, ///< nothing matched, or not found
  unproven = 4,
  unreachable = 5, ///< the controller
  forbidden = 6,
  stale = 7, ///< not started because cancelled

  // Of `run`, `wait`, `say` and `chat`:
  run_timeout = 124,
  run_failed = 125, ///< quell failed, not the task
  run_cannot_execute = 126,
  run_cancelled = 130,
};

/// For a command other than `run` and `wait`.
exit_code exit_of_problem(const problem& p);
/// For `run`, and for `wait` on one operation.
exit_code exit_of_run_problem(const problem& p);
/// For `run` and `wait`: `operation` is a terminal operation (SURFACE 2).
exit_code exit_of_operation(const nlohmann::json& operation);
/// For `cancel`: `body` is a cancel (SURFACE 3); `level` is the level that was waited for (`fenced`, `signalled`,
/// `settled`).
exit_code exit_of_cancel(const nlohmann::json& body, std::string_view level);
/// One code for several outcomes: the one that most needs attention.
exit_code worst_exit(const std::vector<exit_code>& codes);
/// 9 for `KILL` and `SIGKILL`; 0 for an unknown signal.
int signal_number(std::string_view name);

} // namespace quell::cli
