// The Discord connector.
#pragma once

#include <memory>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/discord/settings.hpp"

namespace quell::integrations::chat {

/// Connects in the background and stays connected. Scopes: `discord/<guild>/<channel>`, `discord/dm/<channel>`. Discord
/// calls it at `interactions`. Fault `invalid_field`: settings that cannot work. `at` must outlive the connector.
result<std::unique_ptr<connector>> start_discord(discord_settings settings, host& at);

} // namespace quell::integrations::chat
