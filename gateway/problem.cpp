// The table of error codes with their status and title, and the problem document.
#include "gateway/problem.hpp"

#include <algorithm>
#include <array>

#include "controller/json/json_writer.hpp"
#include "gateway/cancel_json.hpp"

namespace quell::controller::http {

namespace {

constexpr auto kinds = std::to_array<problem_kind>({
    {"bad_json", 400, "The body is not valid JSON"},
    {"bad_request", 400, "The request cannot be read"},
    {"unauthenticated", 401, "A valid token is needed"},
    {"forbidden", 403, "The token's role does not allow this"},
    {"scope_forbidden", 403, "The scope lies outside the token's"},
    {"operation_not_found", 404, "There is no such operation"},
    {"cancel_not_found", 404, "There is no such cancel"},
    {"worker_not_found", 404, "There is no such worker"},
    {"token_not_found", 404, "There is no such token"},
    {"mcp_server_not_found", 404, "There is no such MCP server"},
    {"login_not_found", 404, "There is no such login"},
    {"message_not_found", 404, "There is no such message"},
    {"blob_not_found", 404, "There is no such file"},
    {"not_found", 404, "There is nothing at this path"},
    {"method_not_allowed", 405, "This path does not take that method"},
    {"stale_start", 409, "This work was cancelled before it started"},
    {"parent_ended", 409, "The parent has ended"},
    {"id_conflict", 409, "The id is taken by something else"},
    {"already_terminal", 409, "The operation has ended"},
    {"not_started", 409, "The operation has not started"},
    {"not_cancelling", 409, "The operation is not being cancelled"},
    {"not_paused", 409, "The operation is not paused"},
    {"not_external", 409, "The operation is not external"},
    {"login_failed", 409, "The login did not come about"},
    {"needs_restart", 409, "The change needs a restart"},
    {"turn_running", 409, "A turn of the scope runs or waits"},
    {"history_changed", 409, "The conversation has changed"},
    {"history_in_use", 409, "The scope has a conversation already"},
    {"not_changeable", 409, "This cannot be changed"},
    {"worker_busy", 409, "The worker has live work"},
    {"events_expired", 410, "These events are no longer kept"},
    {"unknown_host", 421, "The request is for another host"},
    {"too_large", 413, "The request is too large"},
    {"unsupported_media_type", 415, "The body is of a type that is not taken here"},
    {"invalid_field", 422, "A field is invalid"},
    {"invalid_values", 422, "The values do not fit the question"},
    {"unknown_field", 422, "A field is unknown"},
    {"bad_scope", 422, "The scope is not valid"},
    {"bad_id", 422, "The id is not valid"},
    {"scope_outside_parent", 422, "The scope lies outside the parent's"},
    {"no_such_worker", 422, "There is no such worker"},
    {"no_target", 422, "Name exactly one target"},
    {"rate_limited", 429, "Too many requests"},
    {"too_many_operations", 429, "Too many live operations"},
    {"budget", 429, "The budget of the day is used up"},
    {"internal", 500, "quelld failed"},
    {"storage_unavailable", 503, "The store cannot take this now"},
    {"not_ready", 503, "quelld is not ready"},
    {"shutting_down", 503, "quelld is shutting down"},
});

} // namespace

const problem_kind& kind_of_problem(std::string_view code) {
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const problem_kind& k) { return k.code == code; });
  if (found != kinds.end()) return *found;
  return *std::find_if(kinds.begin(), kinds.end(), [](const problem_kind& k) { return k.code == "internal"; });
}

problem from_fault(const fault& f) {
  problem p{.code = std::string(kind_of_problem(f.code).code), .detail = f.detail};
  if (!f.pointer.empty()) p.errors.push_back({p.code, f.pointer, f.detail});
  const auto status = kind_of_problem(p.code).status;
  if (status == 429 && p.code != "budget") p.headers.emplace_back("Retry-After", "1");
  if (p.code == "storage_unavailable") p.headers.emplace_back("Retry-After", "5");
  return p;
}

problem from_refusal(const refusal& r) {
  auto p = from_fault(r.error);
  p.cancel = r.cancel;
  if (r.operation) p.members.emplace_back("operation", '"' + r.operation->text() + '"');
  return p;
}

problem from_errors(std::vector<field_error> errors) {
  std::string code = errors.empty() ? "invalid_field" : errors.front().code;
  for (const auto& e : errors) {
    if (e.code == "unknown_field") {
      code = e.code;
      break;
    }
    if (e.code != code) code = "invalid_field";
  }
  std::string detail;
  for (std::size_t i = 0; i < errors.size() && i < 5; ++i) {
    if (i > 0) detail += "; ";
    detail += (errors[i].pointer.empty() ? "the body" : errors[i].pointer) + ": " + errors[i].message;
  }
  if (errors.size() > 5) detail += "; and " + std::to_string(errors.size() - 5) + " more";
  detail += ". Nothing was done: correct the request and send it again.";
  return {.code = std::move(code), .detail = std::move(detail), .errors = std::move(errors)};
}

std::string problem_json(const problem& p, const request_id& request) {
  const auto& kind = kind_of_problem(p.code);
  json_writer to;
  to.open_object();
  to.field("type", "urn:quell:error:" + std::string(kind.code)).field("title", kind.title).field("status", kind.status);
  to.field("code", kind.code).field("detail", p.detail);
  to.key("cancel");
  if (p.cancel)
    write_cancel_reference(to, *p.cancel);
  else
    to.put(nullptr);
  to.key("errors").open_array();
  for (const auto& e : p.errors) {
    to.open_object();
    to.field("pointer", e.pointer).field("message", e.message);
    to.close_object();
  }
  to.close_array();
  to.field("request", request);
  for (const auto& [name, json] : p.members) to.raw_field(name, json);
  to.close_object();
  return to.take();
}

} // namespace quell::controller::http
