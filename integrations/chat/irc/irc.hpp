// The IRC connector.
#pragma once

#include <memory>
#include <string>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/irc/settings.hpp"

namespace quell::integrations::chat {

/// Why these settings cannot work, as the rest of a sentence; "" = they can.
std::string wrong_with(const irc_settings& settings);

/// Connects in the background and stays connected. Scopes: `irc/<network>/<channel or nick>`, names folded as the
/// server compares them. Fault `invalid_field`: settings that cannot work. `at` outlives the connector.
result<std::unique_ptr<connector>> start_irc(irc_settings settings, host& at);

} // namespace quell::integrations::chat
