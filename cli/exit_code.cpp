// Maps endings to exit codes.
#include "cli/exit_code.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "protocol/failure_code.hpp"

namespace quell::cli::exit_code {

int of_problem(const problem& p) {
  if (has_code(p, local_code::usage) || has_code(p, error_code::bad_scope) || has_code(p, error_code::bad_id) ||
      has_code(p, error_code::no_target) || has_code(p, error_code::invalid_field) ||
      has_code(p, local_code::ambiguous))
    return usage;
  if (has_code(p, local_code::unreachable)) return unreachable;
  if (has_code(p, error_code::stale_start)) return stale;
  if (p.status == 401 || p.status == 403) return forbidden;
  if (p.status == 404 || has_code(p, local_code::nothing)) return nothing;
  return refused;
}

int of_run_problem(const problem& p) { return has_code(p, error_code::stale_start) ? run_cancelled : run_failed; }

int of_operation(const nlohmann::json& operation) {
  const std::string status = text_of(operation, "status");
  const auto& end = member(operation, "exit");
  const std::string error = text_of(member(operation, "error"), "code");
  if (status == "cancelled") return run_cancelled;
  if (error == name_of(failure_code::timeout)) return run_timeout;
  if (error == name_of(failure_code::worker_lost) || error == name_of(failure_code::interrupted) ||
      error == name_of(failure_code::heartbeat_lost))
    return run_failed;
  if (member(end, "code").is_number_integer()) return static_cast<int>(number_of(end, "code") & 0xff);
  if (const int n = signal_number(text_of(end, "signal")); n != 0) return 128 + n;
  if (error == name_of(failure_code::start_failed)) return run_cannot_execute;
  const std::string kind = text_of(operation, "kind");
  if (status == "failed" && kind != "task" && kind != "external") return refused;
  return status == "completed" ? done : run_failed;
}

int of_cancel(const nlohmann::json& body, std::string_view level) {
  const std::string outcome = text_of(body, "outcome"), status = text_of(body, "status");
  const auto& report = member(body, "report");
  if (outcome == "nothing_live" || outcome == "unknown_id") return nothing;
  if (member(body, "dry_run") == true)
    return number_of(report, "operations") > 0 || outcome == "already_finished" ? done : nothing;
  if (outcome == "already_finished") return done;
  if (level == "fenced") return done;
  if (status == "settled") return member(report, "proven") == false ? unproven : done;
  return level == "signalled" && status == "signalled" ? done : unproven;
}

int worst(const std::vector<int>& codes) {
  constexpr std::array<int, 8> order{done, nothing, unproven, stale, refused, forbidden, unreachable, usage};
  std::size_t found = 0;
  for (const int code : codes) {
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

} // namespace quell::cli::exit_code
