// From our problems to A2A's errors.
#include "gateway/a2a_error.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::ordered_json;

std::string_view name_of_status(unsigned status) {
  switch (status) {
  case 401:
    return "UNAUTHENTICATED";
  case 403:
    return "PERMISSION_DENIED";
  case 404:
    return "NOT_FOUND";
  case 405:
    return "UNIMPLEMENTED";
  case 409:
    return "ABORTED";
  case 410:
    return "FAILED_PRECONDITION";
  case 429:
    return "RESOURCE_EXHAUSTED";
  case 503:
    return "UNAVAILABLE";
  default:
    return status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT";
  }
}

ordered_json details_of(const a2a_error& e) {
  auto details = ordered_json::array();
  if (!e.kind.reason.empty())
    details.push_back({{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                       {"reason", e.kind.reason},
                       {"domain", "a2a-protocol.org"}});
  if (e.fields.empty()) return details;
  auto violations = ordered_json::array();
  for (const auto& field : e.fields) violations.push_back({{"field", field.pointer}, {"description", field.message}});
  details.push_back(
      {{"@type", "type.googleapis.com/google.rpc.BadRequest"}, {"fieldViolations", std::move(violations)}});
  return details;
}

std::string text_of(const ordered_json& document) {
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace

a2a_error from_problem(const problem& p) {
  a2a_error e{task_not_found, p.detail, p.errors};
  if (p.code == error_code::operation_not_found) return e;
  const auto status = kind_of_problem(p.code).status;
  const int code = p.code == error_code::bad_json ? -32700 : status >= 500 ? -32603 : -32602;
  // A field that is wrong is 400 in this protocol.
  const auto shown = status == 422 ? 400 : status;
  e.kind = {code, shown, name_of_status(shown), ""};
  return e;
}

ordered_json rpc_error(const a2a_error& e) {
  return {{"code", e.kind.rpc_code}, {"message", e.message}, {"data", details_of(e)}};
}

response error_answer(const a2a_error& e) {
  response answer;
  answer.status = e.kind.status;
  answer.body = text_of(
      {{"error",
        {{"code", e.kind.status}, {"status", e.kind.name}, {"message", e.message}, {"details", details_of(e)}}}});
  return answer;
}

response problem_answer(const problem& p, const request& req) {
  auto e = from_problem(p);
  if (p.code == error_code::not_found && req.path.ends_with("/extendedAgentCard"))
    e = {unsupported_operation, "there is no extended agent card"};
  auto answer = error_answer(e);
  answer.headers = p.headers;
  answer.headers.emplace_back("X-Request-Id", req.id.text());
  return answer;
}

} // namespace quell::controller::http::a2a
