// The IRC connector.
#pragma once

#include <memory>
#include <string>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/irc/settings.hpp"

namespace quell::integrations::chat {

/// The reason why these settings cannot work, as the rest of a sentence; "" = they can.
std::string wrong_with(const irc_settings& settings);

/// Connects in the background and stays connected. Scopes: `irc/<network>/<channel or nick>`, with names folded by the
/// server's rule. Fault `invalid_field`: settings that cannot work. `at` must outlive the connector.
result<std::unique_ptr<connector>> start_irc(irc_settings settings, host& at);

} // namespace quell::integrations::chat
