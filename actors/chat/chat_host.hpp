// The host of chat connectors in quelld: passes messages to the turn scheduler and button presses to the controller,
// each limited to the scopes of its service.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/byte_quota.hpp"
#include "controller/service.hpp"
#include "integrations/chat/chat.hpp"

namespace quell::controller::turns {
class turn_scheduler;
}

namespace quell::controller::chat {

/// The shares of a day's bytes that messages and their files take. A stop takes none.
struct byte_counting {
  byte_quota* quota = nullptr; ///< null: no limit
  /// True if this text, in a place where the bot has these names, can be a stop. Must be set if `quota` is.
  std::function<bool(const scope_path& scope, const std::string& text, const std::vector<std::string>& bot_names)>
      is_stop_word = {};
};

/// All must outlive it.
std::unique_ptr<integrations::chat::host> make_host(service& controller, turns::turn_scheduler& turn_scheduler,
                                                    byte_counting bytes = {});

} // namespace quell::controller::chat
