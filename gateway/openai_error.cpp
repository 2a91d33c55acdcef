// From our problems to OpenAI's errors.
#include "gateway/openai_error.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace quell::controller::http {

namespace {

using nlohmann::ordered_json;

const char* type_of(unsigned status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string code_of(const problem& p) {
  if (p.code == error_code::unauthenticated) return "invalid_api_key";
  const auto about = p.errors.empty() ? std::string() : p.errors.front().pointer;
  if (p.code == error_code::not_found && about == "/model") return "model_not_found";
  if (p.code == error_code::too_large && about == "/messages") return "context_length_exceeded";
  return std::string(text_of(p.code));
}

/// `/messages/3/content` as `messages[3].content`.
std::string parameter_of(const std::string& pointer) {
  std::string name;
  for (std::size_t at = 1; at < pointer.size();) {
    const auto end = std::min(pointer.find('/', at), pointer.size());
    const auto part = pointer.substr(at, end - at);
    const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    name += is_index ? "[" + part + "]" : (name.empty() ? "" : ".") + part;
    at = end + 1;
  }
  return name;
}

} // namespace

response openai_error_answer(const problem& p, const request_id& id) {
  response answer;
  const auto status = kind_of_problem(p.code).status;
  answer.status = status == 422 ? 400 : status; // as their servers answer what is wrong with a request
  answer.headers = p.headers;
  answer.headers.emplace_back("x-request-id", id.text());
  // Their clients repeat a conflict by themselves; here it means that somebody stopped this work.
  if (status == 409) answer.headers.emplace_back("x-should-retry", "false");
  const auto parameter = p.errors.empty() ? ordered_json() : ordered_json(parameter_of(p.errors.front().pointer));
  const ordered_json error = {
      {"message", p.detail}, {"type", type_of(answer.status)}, {"param", parameter}, {"code", code_of(p)}};
  answer.body = ordered_json{{"error", error}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return answer;
}

} // namespace quell::controller::http
