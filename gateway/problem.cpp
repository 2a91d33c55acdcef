// The table of error codes with their status and title, and the problem document.
#include "gateway/problem.hpp"

#include <algorithm>
#include <array>

#include "controller/json/json_writer.hpp"
#include "gateway/cancel_json.hpp"

namespace quell::controller::http {

namespace {

constexpr auto kinds = std::to_array<problem_kind>({
    {error_code::bad_json, 400, "The body is not valid JSON"},
    {error_code::bad_request, 400, "The request cannot be read"},
    {error_code::unauthenticated, 401, "A valid token is needed"},
    {error_code::forbidden, 403, "The token's role does not allow this"},
    {error_code::scope_forbidden, 403, "The scope lies outside the token's"},
    {error_code::operation_not_found, 404, "There is no such operation"},
    {error_code::cancel_not_found, 404, "There is no such cancel"},
    {error_code::worker_not_found, 404, "There is no such worker"},
    {error_code::token_not_found, 404, "There is no such token"},
    {error_code::mcp_server_not_found, 404, "There is no such MCP server"},
    {error_code::login_not_found, 404, "There is no such login"},
    {error_code::message_not_found, 404, "There is no such message"},
    {error_code::blob_not_found, 404, "There is no such file"},
    {error_code::not_found, 404, "There is nothing at this path"},
    {error_code::method_not_allowed, 405, "This path does not take that method"},
    {error_code::stale_start, 409, "This work was cancelled before it started"},
    {error_code::parent_ended, 409, "The parent has ended"},
    {error_code::id_conflict, 409, "The id is taken by something else"},
    {error_code::already_terminal, 409, "The operation has ended"},
    {error_code::not_started, 409, "The operation has not started"},
    {error_code::not_cancelling, 409, "The operation is not being cancelled"},
    {error_code::not_paused, 409, "The operation is not paused"},
    {error_code::not_external, 409, "The operation is not external"},
    {error_code::login_failed, 409, "The login did not come about"},
    {error_code::needs_restart, 409, "The change needs a restart"},
    {error_code::turn_running, 409, "A turn of the scope runs or waits"},
    {error_code::history_changed, 409, "The conversation has changed"},
    {error_code::history_in_use, 409, "The scope has a conversation already"},
    {error_code::not_changeable, 409, "This cannot be changed"},
    {error_code::worker_busy, 409, "The worker has live work"},
    {error_code::events_expired, 410, "These events are no longer kept"},
    {error_code::unknown_host, 421, "The request is for another host"},
    {error_code::too_large, 413, "The request is too large"},
    {error_code::unsupported_media_type, 415, "The body is of a type that is not taken here"},
    {error_code::invalid_field, 422, "A field is invalid"},
    {error_code::invalid_values, 422, "The values do not fit the question"},
    {error_code::unknown_field, 422, "A field is unknown"},
    {error_code::bad_scope, 422, "The scope is not valid"},
    {error_code::bad_id, 422, "The id is not valid"},
    {error_code::scope_outside_parent, 422, "The scope lies outside the parent's"},
    {error_code::no_such_worker, 422, "There is no such worker"},
    {error_code::no_target, 422, "Name exactly one target"},
    {error_code::rate_limited, 429, "Too many requests"},
    {error_code::too_many_operations, 429, "Too many live operations"},
    {error_code::budget, 429, "The budget of the day is used up"},
    {error_code::internal, 500, "quelld failed"},
    {error_code::storage_unavailable, 503, "The store cannot take this now"},
    {error_code::not_ready, 503, "quelld is not ready"},
    {error_code::shutting_down, 503, "quelld is shutting down"},
});

constexpr bool every_code_has_one_kind() {
  for (const auto& row : error_codes)
    if (std::count_if(kinds.begin(), kinds.end(), [&](const problem_kind& k) { return k.code == row.code; }) != 1)
      return false;
  return true;
}
static_assert(every_code_has_one_kind());

} // namespace

const problem_kind& kind_of_problem(error_code code) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const problem_kind& k) { return k.code == code; });
}

problem from_fault(const fault& f) { return from_fault(coded(f)); }

problem from_fault(const coded_fault& f) {
  problem p{.code = f.code, .detail = f.detail};
  if (!f.pointer.empty()) p.errors.push_back({p.code, f.pointer, f.detail});
  const auto status = kind_of_problem(p.code).status;
  if (status == 429 && p.code != error_code::budget) p.headers.emplace_back("Retry-After", "1");
  if (p.code == error_code::storage_unavailable) p.headers.emplace_back("Retry-After", "5");
  return p;
}

problem from_refusal(const refusal& r) {
  auto p = from_fault(r.error);
  p.cancel = r.cancel;
  if (r.retry_after > milliseconds{0})
    p.headers.emplace_back("Retry-After",
                           std::to_string(std::chrono::ceil<std::chrono::seconds>(r.retry_after).count()));
  if (r.operation) p.members.emplace_back("operation", '"' + r.operation->text() + '"');
  return p;
}

problem from_errors(std::vector<field_error> errors) {
  error_code code = errors.empty() ? error_code::invalid_field : errors.front().code;
  for (const auto& e : errors) {
    if (e.code == error_code::unknown_field) {
      code = e.code;
      break;
    }
    if (e.code != code) code = error_code::invalid_field;
  }
  std::string detail;
  for (std::size_t i = 0; i < errors.size() && i < 5; ++i) {
    if (i > 0) detail += "; ";
    detail += (errors[i].pointer.empty() ? "the body" : errors[i].pointer) + ": " + errors[i].message;
  }
  if (errors.size() > 5) detail += "; and " + std::to_string(errors.size() - 5) + " more";
  detail += ". Nothing was done: correct the request and send it again.";
  return {.code = code, .detail = std::move(detail), .errors = std::move(errors)};
}

std::string problem_json(const problem& p, const request_id& request) {
  const auto& kind = kind_of_problem(p.code);
  const auto code = text_of(p.code);
  json_writer to;
  to.open_object();
  to.field("type", "urn:quell:error:" + std::string(code)).field("title", kind.title).field("status", kind.status);
  to.field("code", code).field("detail", p.detail);
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
