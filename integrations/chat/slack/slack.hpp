// The Slack connector.
#pragma once

#include <memory>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/slack/settings.hpp"

namespace quell::integrations::chat {

/// Scopes: `slack/<team>/<channel>/<thread>`, in direct messages `slack/<team>/<channel>`. Slack calls it at `events`,
/// `commands` and `actions`. Fault `invalid_field`: settings that cannot work. `at` must outlive the connector.
result<std::unique_ptr<connector>> start_slack(slack_settings settings, host& at);

} // namespace quell::integrations::chat
