// [[webhooks]] and [[incoming]]: events sent and messages received, signed according to Standard Webhooks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/scope.hpp"

namespace quell::integrations::chat {

/// An endpoint to which events are delivered.
struct outgoing_webhook {
  std::string name; ///< key of its stored position; made from the url unless configured
  std::string url;
  std::optional<scope_path> scope; ///< at or below; nullopt = all
  std::vector<std::string> types;  ///< empty = all but `audit`
  std::string key;                 ///< raw bytes of the `whsec_` key; a secret
  std::string ca_file;
};

/// A sender that may post messages to /v1/chat/webhook/<name>.
struct incoming_webhook {
  std::string name;
  scope_path scope;                 ///< `webhook/<name>` unless configured; at or below `webhook`
  std::optional<std::string> agent; ///< the agent that answers; absent: the scope's agent
  std::string key;                  ///< raw bytes of the `whsec_` key; a secret
};

} // namespace quell::integrations::chat
