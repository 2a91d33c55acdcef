// The operations of A2A 1.0, for both of its bindings. Each throws `a2a_error` or `problem`.
#pragma once

#include <nlohmann/json.hpp>

#include "gateway/a2a/push_config.hpp"
#include "gateway/a2a/task_stream.hpp"
#include "gateway/body.hpp"

namespace quell::controller::http::a2a {

/// The body of a request.
inline tl::expected<nlohmann::json, problem> read_params(std::string_view text) {
  return parse_body(text, null_members::kept);
}

/// The protocol version that a request names must be 1.0; none means 0.3.
void check_version(const exchange& x);

/// SendMessage: the result, once the task is over (or at once, if the client wants that).
awaitable<nlohmann::ordered_json> send_message(exchange& x, const nlohmann::json& params); // send.cpp
/// SendStreamingMessage.
awaitable<response> send_streaming(exchange& x, const nlohmann::json& params, as_frame wrap);

awaitable<nlohmann::ordered_json> get_task(exchange& x, const nlohmann::json& params); // tasks.cpp
awaitable<nlohmann::ordered_json> cancel_task(exchange& x, const nlohmann::json& params);
awaitable<response> subscribe(exchange& x, const nlohmann::json& params, as_frame wrap);
awaitable<nlohmann::ordered_json> list_tasks(exchange& x, const nlohmann::json& params); // task_list.cpp

/// Throws if this caller can have no further config now.
void need_push_room(exchange& x); // push_calls.cpp
/// Answers when the config is on disk.
awaitable<nlohmann::ordered_json> store_push_config(exchange& x, push_config config); // push_calls.cpp
awaitable<nlohmann::ordered_json> create_push_config(exchange& x, const nlohmann::json& params);
awaitable<nlohmann::ordered_json> get_push_config(exchange& x, const nlohmann::json& params);
awaitable<nlohmann::ordered_json> list_push_configs(exchange& x, const nlohmann::json& params);
/// Idempotent.
awaitable<nlohmann::ordered_json> delete_push_config(exchange& x, const nlohmann::json& params);

} // namespace quell::controller::http::a2a
