// Exit codes (SURFACE 12): the only place that maps each ending to a number. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "cli/problem.hpp"

namespace quell::cli::exit_code {

inline constexpr int done = 0;
inline constexpr int refused = 1;
inline constexpr int usage = 2;
inline constexpr int nothing = 3;
inline constexpr int unproven = 4;
inline constexpr int unreachable = 5;
inline constexpr int forbidden = 6;
inline constexpr int stale = 7;

inline constexpr int run_timeout = 124;
inline constexpr int run_failed = 125;
inline constexpr int run_cannot_execute = 126;
inline constexpr int run_cancelled = 130;

/// For a command other than `run` and `wait`.
int of_problem(const problem& p);
/// For `run`, and for `wait` on one operation.
int of_run_problem(const problem& p);
/// For `run` and `wait`: `operation` is a terminal operation (SURFACE 2).
int of_operation(const nlohmann::json& operation);
/// For `cancel`: `body` is a cancel (SURFACE 3); `level` is the level that was waited for (`fenced`, `signalled`,
/// `settled`).
int of_cancel(const nlohmann::json& body, std::string_view level);
/// One code for several outcomes: the one that most needs attention.
int worst(const std::vector<int>& codes);
/// 9 for `KILL` and `SIGKILL`; 0 for an unknown signal.
int signal_number(std::string_view name);

} // namespace quell::cli::exit_code
