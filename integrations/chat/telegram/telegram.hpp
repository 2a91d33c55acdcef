// The Telegram connector.
#pragma once

#include <memory>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/telegram/settings.hpp"

namespace quell::integrations::chat {

/// Scopes: `telegram/<chat>`, in forums `telegram/<chat>/<topic>`. With a webhook Telegram calls it at `updates`. Fault
/// `invalid_field`: settings that cannot work. `at` must outlive the connector.
result<std::unique_ptr<connector>> start_telegram(telegram_settings settings, host& at);

} // namespace quell::integrations::chat
