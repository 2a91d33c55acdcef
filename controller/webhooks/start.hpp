// Webhooks over a running gateway.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/gateway/server.hpp"
#include "controller/webhooks/webhooks.hpp"

namespace quell::controller::webhooks {

/// nullptr if there is none to tell. `from` outlives what is started until that is stopped.
result<std::unique_ptr<outgoing>> start_over(gateway& from, const std::vector<integrations::chat::outgoing_webhook>& to,
                                             const std::string& state_directory);

} // namespace quell::controller::webhooks
