// `quell help`, `quell help errors`, `quell version`.
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"

namespace quell::cli {
namespace {

constexpr const char* errors = R"(Exit codes
  0    done; cancel: settled and proven, or already finished, or the level asked with --wait= reached
  1    refused or failed: server error, disk, conflict
  2    usage: flag, duration, scope, name or other value, ambiguous id, no target
  3    nothing matched, or not found; cancel of an idle scope (its cutoff is recorded) or of an unknown id
  4    not proven: the wait ran out, or it settled with `unconfirmed`
  5    the controller is not reachable, or was lost while waiting
  6    not allowed
  7    not started because cancelled

Exit codes of run, and of wait for one operation
  N    the command's own code
  128+n  the command died of signal n by itself
  130  it was cancelled, or its start was refused as stale
  124  its --timeout ran out
  125  quell failed: flags, no controller, refused, worker lost, contact lost for --reconnect
  126  the command cannot be executed; 127: it was not found on the worker
  wait of a turn: as say
  wait of several: 0 if all completed with code 0, else 1; 4 if --timeout ran out

Exit codes of say, and of chat
  0    the turn completed; chat on a terminal: the person left and nothing is left running
  1    a turn failed: the model, a limit, a repetition (what and why is on standard error)
  130  it was cancelled (Ctrl-C, `quell cancel`, a parent); or one left before the end of what was stopped
  124  the turn's time ran out (the agent's budget)
  125  quell failed: flags, no controller, refused, the turn was interrupted by a restart, contact lost for --reconnect
  chat from a pipe: that of the last line that did not complete; it ends at the first 125 or 130

Error codes of the controller (`code` of the problem document, which --json prints on standard error)
  400  bad_json, bad_request: the request cannot be read
  401  unauthenticated: no valid token          403  forbidden: the token's role does not allow it
  403  scope_forbidden: a named scope lies outside the token's
  404  operation_not_found, cancel_not_found, worker_not_found, token_not_found, mcp_server_not_found,
       login_not_found, message_not_found, blob_not_found, not_found
  405  method_not_allowed   413  too_large   415  unsupported_media_type
  429  rate_limited, too_many_operations: try again after Retry-After   budget: used up for today
  409  stale_start: cancelled before it started   parent_ended: the parent is completed or failed
       id_conflict: the id is taken by another body   already_terminal, not_started, not_cancelling, not_paused, not_external
       worker_busy: live work on that worker   login_failed: a login at an MCP server did not come about
       needs_restart: the new configuration changes what only a restart can change; nothing was changed
       turn_running: a conversation is changed only while no turn of it runs or waits   history_changed: not what you saw
       history_in_use: the other scope has a conversation   not_changeable: behind a summary, or nothing to do
  410  events_expired: older than what is kept
  421  unknown_host: the request names a host that is not ours (http.hosts)
  422  invalid_values: what is given does not fit the question, which stays open
       invalid_field, unknown_field, bad_scope, bad_id, scope_outside_parent, no_such_worker, no_target
  500  internal   503  storage_unavailable, not_ready, shutting_down: nothing was done, safe to repeat
)";

} // namespace

exit_code execute(session& s, const help_options& o) {
  if (o.topic == "errors") {
    s.print(errors);
    return exit_code::done;
  }
  const auto text = help_text(o.topic.value_or(""));
  if (text.empty())
    return s.fail(local_problem(local_code::usage, "there is no command '" + *o.topic + "': see quell --help"));
  s.print(text);
  return exit_code::done;
}

exit_code execute(session& s, const version_options&) {
  nlohmann::json out{{"cli", QUELL_VERSION}, {"controller", nullptr}, {"url", nullptr}};
  // Versions are shown as far as they are known: a missing controller is not an error here.
  if (auto controller = s.connect()) {
    out["url"] = (*controller)->where().url;
    if (auto status = (*controller)->get("/v1/status")) out["controller"] = text_of(*status, "version");
  }
  if (s.json()) {
    s.print_document(out);
    return exit_code::done;
  }
  s.print("quell " QUELL_VERSION "\n");
  const auto version = text_of(out, "controller"), url = text_of(out, "url");
  if (!version.empty())
    s.print("quelld " + printable(version) + " at " + url + "\n");
  else if (!url.empty())
    s.hint("the controller at " + url + " does not answer");
  return exit_code::done;
}

} // namespace quell::cli
