// A signed delivery as an HTTP request. Pure.
#pragma once

#include <chrono>
#include <string>

#include "integrations/chat/web.hpp"
#include "integrations/chat/webhook/settings.hpp"

namespace quell::integrations::chat {

/// `body` is JSON; `id` must be the same at each attempt.
web_request signed_post(const outgoing_webhook& to, const std::string& id, std::chrono::sys_seconds now,
                        const std::string& body);

} // namespace quell::integrations::chat
