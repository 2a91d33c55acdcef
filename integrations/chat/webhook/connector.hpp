// Messages that come in as signed webhooks, at /v1/chat/webhook/<name>.
#pragma once

#include <memory>
#include <vector>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/webhook/settings.hpp"

namespace quell::integrations::chat {

/// `at` outlives the connector. What is answered goes out through [[webhooks]]; nothing is told back here.
std::unique_ptr<connector> start_incoming(std::vector<incoming_webhook> from, host& at);

} // namespace quell::integrations::chat
