// The XMPP connector.
#pragma once

#include <memory>
#include <string>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/xmpp/settings.hpp"

namespace quell::integrations::chat {

/// The reason why these settings cannot work, as the rest of a sentence; "" = they can.
std::string wrong_with(const xmpp_settings& settings);

/// Connects in the background and stays connected. Scopes: `xmpp/<bare JID of a person or room>`. Fault
/// `invalid_field`: settings that cannot work. `at` must outlive the connector.
result<std::unique_ptr<connector>> start_xmpp(xmpp_settings settings, host& at);

} // namespace quell::integrations::chat
