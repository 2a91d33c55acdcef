// A cancel in words: progress while it runs, the report when it ends. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/operation_view.hpp"

namespace quell::cli {

/// `scope team/build`, `operation 7bee07dd`, `owner alice below team`, `everything`.
std::string target_text(const nlohmann::json& target);
/// One line: `scope team/build: 12 of 37 left, 3 in grace, kill in 1.2s, w2 unreachable until 09:52:12`.
std::string progress_text(const nlohmann::json& cancel, const view& v);
/// An operation that is not proven dead yet: why, since when, its processes, the next step and when. Two or more lines.
std::vector<std::string> unproven_lines(const nlohmann::json& entry, const view& v);
/// The whole report, several lines.
std::string report_text(const nlohmann::json& cancel, const view& v);
/// The operations that a dry run would stop, as a table with a headline.
std::string dry_run_text(const nlohmann::json& cancel, const view& v, int columns);
/// The phrase for `why` (`in_grace` → `in grace: told to stop, …`).
std::string why_text(const std::string& why);

} // namespace quell::cli
