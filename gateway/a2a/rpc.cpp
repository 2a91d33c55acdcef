// The JSON-RPC binding: POST /a2a/AGENT.
#include "gateway/a2a/calls.hpp"
#include "gateway/a2a_error.hpp"
#include "gateway/a2a_handlers.hpp"
#include "gateway/body.hpp"
#include "gateway/query_reader.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string text_of(const ordered_json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

ordered_json result_of(const ordered_json& id, ordered_json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

response rpc_failure(const ordered_json& id, const a2a_error& e) {
  return json_answer(text_of({{"jsonrpc", "2.0"}, {"id", id}, {"error", rpc_error(e)}}));
}

/// Refusals that concern the connection or the token, not the call, are answers of HTTP.
bool is_of_http(const problem& p) {
  const auto status = kind_of_problem(p.code).status;
  return status == 401 || status == 403 || status == 421 || status == 429 || status >= 500;
}

struct rpc_call {
  ordered_json id;
  std::string method;
  json params = json::object();
};

/// `call.id` is set as soon as it is known.
void read_call(const json& body, rpc_call& call) {
  const auto id = body.find("id");
  const bool has_id = id != body.end() && (id->is_string() || id->is_number_integer());
  if (has_id && (!id->is_string() || id->get_ref<const std::string&>().size() <= 256)) call.id = *id;
  if (value_at<std::string>(body, "jsonrpc") != "2.0" || call.id.is_null())
    throw a2a_error{invalid_request,
                    "this is not a request of JSON-RPC 2.0 with an id (a text of at most 256 bytes, or "
                    "a whole number)"};
  call.method = value_at<std::string>(body, "method");
  const auto params = body.find("params");
  if (params != body.end() && !params->is_null()) call.params = *params;
  if (!call.params.is_object()) throw a2a_error{invalid_params, "params must be an object"};
}

awaitable<response> dispatch(exchange& x, const rpc_call& call) {
  const as_frame wrap = [id = call.id](const ordered_json& result) { return data_frame(result_of(id, result)); };
  const auto& method = call.method;
  ordered_json result;
  if (method == "CancelTask")
    result = co_await cancel_task(x, call.params);
  else if (method == "SendMessage")
    result = co_await send_message(x, call.params);
  else if (method == "SendStreamingMessage")
    co_return co_await send_streaming(x, call.params, wrap);
  else if (method == "SubscribeToTask")
    co_return co_await subscribe(x, call.params, wrap);
  else if (method == "GetTask")
    result = co_await get_task(x, call.params);
  else if (method == "ListTasks")
    result = co_await list_tasks(x, call.params);
  else if (method == "CreateTaskPushNotificationConfig")
    result = co_await create_push_config(x, call.params);
  else if (method == "GetTaskPushNotificationConfig")
    result = co_await get_push_config(x, call.params);
  else if (method == "ListTaskPushNotificationConfigs")
    result = co_await list_push_configs(x, call.params);
  else if (method == "DeleteTaskPushNotificationConfig")
    result = co_await delete_push_config(x, call.params);
  else if (method == "GetExtendedAgentCard")
    throw a2a_error{unsupported_operation, "there is no extended agent card"};
  else
    throw a2a_error{method_not_found, "there is no method " + method.substr(0, 64)};
  co_return json_answer(text_of(result_of(call.id, std::move(result))));
}

} // namespace

void check_version(const exchange& x) {
  auto version = x.req.a2a_version;
  for (const auto& [name, value] : x.req.query)
    if (name == "A2A-Version" && version.empty()) version = value;
  if (version == "1.0" || version.starts_with("1.0.")) return;
  throw a2a_error{version_not_supported, "this agent speaks A2A 1.0, not " +
                                             (version.empty() ? "0.3" : version.substr(0, 16)) +
                                             "; send the header A2A-Version: 1.0"};
}

awaitable<response> post_rpc(exchange& x) {
  rpc_call call;
  try {
    const auto body = co_await checked_body(x, read_params);
    read_call(body, call);
    check_version(x);
    co_return co_await dispatch(x, call);
  } catch (const a2a_error& e) {
    co_return rpc_failure(call.id, e);
  } catch (const problem& p) {
    if (is_of_http(p)) throw;
    co_return rpc_failure(call.id, from_problem(p));
  }
}

} // namespace quell::controller::http::a2a
