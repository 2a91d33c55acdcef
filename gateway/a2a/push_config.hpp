// A wish to be notified about a task (TaskPushNotificationConfig of A2A 1.0). Pure.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"

namespace quell::controller::http::a2a {

struct push_config {
  std::string id;
  operation_id task;
  std::string url;
  std::string token;               ///< secret: sent as X-A2A-Notification-Token; "" = none
  std::string scheme, credentials; ///< the latter secret: sent as Authorization; "" = none
  // Not of the protocol:
  std::string by;          ///< the id of the token that made it
  std::string agent, base; ///< as in served_agent
  std::string last;        ///< the newest state that was delivered; "" = none
};

inline constexpr std::size_t most_configs_of_task = 10, most_configs_of_token = 250, most_push_configs = 1'000;

/// Of the parameters of CreateTaskPushNotificationConfig, or of `configuration.taskPushNotificationConfig`; `task`,
/// `by`, `agent` and `base` are the caller's. Without an id a fresh one. Throws `a2a_error` (invalid_params).
push_config read_push_config(const nlohmann::json& from);
/// For its caller, secrets included, as the protocol has it.
nlohmann::ordered_json push_config_json(const push_config& config);

/// The text of its file, and the reverse: nullopt for what is none.
std::string push_file_text(const push_config& config);
std::optional<push_config> read_push_file(const std::string& text);

} // namespace quell::controller::http::a2a
