// The HTTP+JSON binding.
#include "gateway/a2a/calls.hpp"
#include "gateway/a2a_error.hpp"
#include "gateway/a2a_handlers.hpp"
#include "gateway/body.hpp"
#include "gateway/query_reader.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* media_type = "application/a2a+json";

response answer_with(const ordered_json& document) {
  auto answer = json_answer(document.dump(-1, ' ', false, json::error_handler_t::replace));
  answer.content_type = media_type;
  return answer;
}

std::string bare_frame(const ordered_json& result) { return data_frame(result); }

/// Turns the errors of a call into its answer; problems are the router's.
awaitable<response> answered(exchange& x, awaitable<response> (*call)(exchange&)) {
  try {
    check_version(x);
    co_return co_await call(x);
  } catch (const a2a_error& e) {
    auto answer = error_answer(e);
    answer.content_type = media_type;
    co_return answer;
  }
}

/// `ID:VERB` in the path. `verb` is "" if there is none.
struct task_path {
  std::string id, verb;
};
task_path path_of_task(const exchange& x) {
  const auto& text = x.arguments.at(1);
  const auto colon = text.find(':');
  return {text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
}

[[noreturn]] void no_such_path(const exchange& x) {
  throw problem{.code = error_code::not_found, .detail = "there is nothing at " + x.req.path.substr(0, 200)};
}

/// The query of a GET as the parameters of its call.
json params_of(const exchange& x, std::initializer_list<const char*> names) {
  query_reader query(x.req);
  query.one("A2A-Version");
  json params = json::object();
  for (const auto* name : names)
    if (auto value = query.one(name)) params[name] = std::move(*value);
  query.finish();
  return params;
}

awaitable<response> send_call(exchange& x) {
  const auto params = co_await checked_body(x, read_params);
  const auto result = co_await send_message(x, params);
  co_return answer_with(result);
}

awaitable<response> stream_call(exchange& x) {
  const auto params = co_await checked_body(x, read_params);
  co_return co_await send_streaming(x, params, bare_frame);
}

awaitable<response> list_call(exchange& x) {
  auto params = params_of(x, {"contextId", "status", "pageSize", "pageToken", "historyLength", "statusTimestampAfter",
                              "includeArtifacts", "tenant"});
  if (const auto size = value_at<std::string>(params, "pageSize"); !size.empty()) {
    const auto number = json::parse(size, nullptr, false);
    params["pageSize"] = number.is_number_unsigned() ? number : json(0);
  }
  params["includeArtifacts"] = value_at<std::string>(params, "includeArtifacts") == "true";
  const auto result = co_await list_tasks(x, params);
  co_return answer_with(result);
}

awaitable<response> get_call(exchange& x) {
  const auto path = path_of_task(x);
  params_of(x, {"historyLength", "tenant"});
  const json params = {{"id", path.id}};
  if (path.verb == "subscribe") co_return co_await subscribe(x, params, bare_frame);
  if (!path.verb.empty()) no_such_path(x);
  const auto task = co_await get_task(x, params);
  co_return answer_with(task);
}

awaitable<response> post_call(exchange& x) {
  const auto path = path_of_task(x);
  auto params = co_await checked_body(x, read_params);
  params["id"] = path.id;
  if (path.verb == "subscribe") co_return co_await subscribe(x, params, bare_frame);
  if (path.verb != "cancel") no_such_path(x);
  const auto task = co_await cancel_task(x, params);
  co_return answer_with(task);
}

json params_of_config(const exchange& x) {
  json params = params_of(x, {"pageSize", "pageToken", "tenant"});
  params["taskId"] = x.arguments.at(1);
  if (x.arguments.size() > 2) params["id"] = x.arguments.at(2);
  return params;
}

awaitable<response> create_config_call(exchange& x) {
  auto params = co_await checked_body(x, read_params);
  params["taskId"] = x.arguments.at(1);
  const auto made = co_await create_push_config(x, params);
  co_return answer_with(made);
}

awaitable<response> list_configs_call(exchange& x) {
  const auto params = params_of_config(x);
  const auto all = co_await list_push_configs(x, params);
  co_return answer_with(all);
}

awaitable<response> get_config_call(exchange& x) {
  const auto params = params_of_config(x);
  const auto one = co_await get_push_config(x, params);
  co_return answer_with(one);
}

awaitable<response> delete_config_call(exchange& x) {
  const auto params = params_of_config(x);
  const auto nothing = co_await delete_push_config(x, params);
  co_return answer_with(nothing);
}

} // namespace

awaitable<response> post_push_config(exchange& x) { co_return co_await answered(x, create_config_call); }
awaitable<response> get_push_configs(exchange& x) { co_return co_await answered(x, list_configs_call); }
awaitable<response> get_one_push_config(exchange& x) { co_return co_await answered(x, get_config_call); }
awaitable<response> delete_one_push_config(exchange& x) { co_return co_await answered(x, delete_config_call); }
awaitable<response> post_send(exchange& x) { co_return co_await answered(x, send_call); }
awaitable<response> post_stream(exchange& x) { co_return co_await answered(x, stream_call); }
awaitable<response> get_tasks(exchange& x) { co_return co_await answered(x, list_call); }
awaitable<response> get_one_task(exchange& x) { co_return co_await answered(x, get_call); }
awaitable<response> post_to_task(exchange& x) { co_return co_await answered(x, post_call); }

} // namespace quell::controller::http::a2a
