// [[webhooks]] and [[incoming]]: events sent out, and messages taken in, signed as Standard Webhooks has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/scope.hpp"

namespace quell::integrations::chat {

/// A place to which events are delivered.
struct outgoing_webhook {
  std::string name; ///< under which its position is kept; made from the url unless configured
  std::string url;
  std::optional<scope_path> scope; ///< at or below; nullopt = all
  std::vector<std::string> types;  ///< empty = all but `audit`
  std::string key;                 ///< raw bytes behind `whsec_`; a secret
  std::string ca_file;
};

/// Somebody who may post messages to /v1/chat/webhook/<name>.
struct incoming_webhook {
  std::string name;
  scope_path scope;                 ///< `webhook/<name>` unless configured; at or below `webhook`
  std::optional<std::string> agent; ///< who answers; absent: whoever serves the scope
  std::string key;                  ///< raw bytes behind `whsec_`; a secret
};

} // namespace quell::integrations::chat
