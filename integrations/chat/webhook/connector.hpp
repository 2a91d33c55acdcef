// Incoming messages as signed webhooks, at /v1/chat/webhook/<name>.
#pragma once

#include <memory>
#include <vector>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/webhook/settings.hpp"

namespace quell::integrations::chat {

/// `at` must outlive the connector. Answers are sent through [[webhooks]]; this connector sends nothing.
std::unique_ptr<connector> start_incoming(std::vector<incoming_webhook> from, host& at);

} // namespace quell::integrations::chat
