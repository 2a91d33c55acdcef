// The parameters of SendMessage and SendStreamingMessage. Pure.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "gateway/a2a/push_config.hpp"
#include "gateway/a2a_error.hpp"

namespace quell::controller::http::a2a {

/// The most bytes of a messageId or contextId.
inline constexpr std::size_t max_id_bytes = 120;

struct send_request {
  std::string message_id;
  std::optional<std::string> context, task; ///< contextId, taskId
  std::string text;
  bool returns_at_once = false;
  std::optional<push_config> push; ///< the address that is notified of its task
};

/// Throws `a2a_error`. Members that the protocol does not have are left unread, as it demands.
send_request read_send(const nlohmann::json& params);
/// The member `name` of `params` as a text. Throws `a2a_error` if it is missing, empty or too long.
std::string needed_text(const nlohmann::json& params, const char* name);

} // namespace quell::controller::http::a2a
