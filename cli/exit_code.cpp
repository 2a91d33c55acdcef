// Maps endings to exit codes.
#include "cli/exit_code.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "protocol/failure_code.hpp"

namespace quell::cli {
namespace {

/// The code that a task ended with, or 128 and its signal.
exit_code passed_on(std::int64_t number) { return static_cast<exit_code>(number & 0xff); }

} // namespace

exit_code exit_of_problem(const problem& p) {
  if (has_code(p, local_code::usage) || has_code(p, error_code::bad_scope) || has_code(p, error_code::bad_id) ||
      has_code(p, error_code::no_target) || has_code(p, error_code::invalid_field) ||
      has_code(p, local_code::ambiguous))
    return exit_code::usage;
  if (has_code(p, local_code::unreachable)) return exit_code::unreachable;
  if (has_code(p, error_code::stale_start)) return exit_code::stale;
  if (p.status == 401 || p.status == 403) return exit_code::forbidden;
  if (p.status == 404 || has_code(p, local_code::nothing)) return exit_code::nothing;
  return exit_code::refused;
}

exit_code exit_of_run_problem(const problem& p) {
  return has_code(p, error_code::stale_start) ? exit_code::run_cancelled : exit_code::run_failed;
}

exit_code exit_of_operation(const nlohmann::json& operation) {
  const std::string status = text_of(operation, "status");
  const auto& end = member(operation, "exit");
  const std::string error = text_of(member(operation, "error"), "code");
  if (status == "cancelled") return exit_code::run_cancelled;
  if (error == name_of(failure_code::timeout)) return exit_code::run_timeout;
  if (error == name_of(failure_code::worker_lost) || error == name_of(failure_code::interrupted) ||
      error == name_of(failure_code::heartbeat_lost))
    return exit_code::run_failed;
  if (member(end, "code").is_number_integer()) return passed_on(number_of(end, "code"));
  if (const int n = signal_number(text_of(end, "signal")); n != 0) return passed_on(128 + n);
  if (error == name_of(failure_code::start_failed)) return exit_code::run_cannot_execute;
  const std::string kind = text_of(operation, "kind");
  if (status == "failed" && kind != "task" && kind != "external") return exit_code::refused;
  return status == "completed" ? exit_code::done : exit_code::run_failed;
}

exit_code exit_of_cancel(const nlohmann::json& body, std::string_view level) {
  const std::string outcome = text_of(body, "outcome"), status = text_of(body, "status");
  const auto& report = member(body, "report");
  if (outcome == "nothing_live" || outcome == "unknown_id") return exit_code::nothing;
  if (member(body, "dry_run") == true)
    return number_of(report, "operations") > 0 || outcome == "already_finished" ? exit_code::done : exit_code::nothing;
  if (outcome == "already_finished") return exit_code::done;
  if (level == "fenced") return exit_code::done;
  if (status == "settled") return member(report, "proven") == false ? exit_code::unproven : exit_code::done;
  return level == "signalled" && status == "signalled" ? exit_code::done : exit_code::unproven;
}

exit_code worst_exit(const std::vector<exit_code>& codes) {
  constexpr std::array<exit_code, 8> order{exit_code::done,        exit_code::nothing, exit_code::unproven,
                                           exit_code::stale,       exit_code::refused, exit_code::forbidden,
                                           exit_code::unreachable, exit_code::usage};
  std::size_t found = 0;
  for (const exit_code code : codes) {
    const auto* at = std::find(order.begin(), order.end(), code);
    if (at == order.end()) return code;
    found = std::max(found, static_cast<std::size_t>(at - order.begin()));
  }
  return order[found];
}

int signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int n = 1; n < NSIG; ++n) {
    const char* abbreviation = ::sigabbrev_np(n);
    if (abbreviation != nullptr && name == abbreviation) return n;
  }
  return 0;
}

} // namespace quell::cli
