// Starts webhooks on a running gateway.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/server.hpp"
#include "gateway/webhooks/webhooks.hpp"

namespace quell::controller::webhooks {

/// nullptr if no webhook is configured. `from` must outlive the result until that is stopped.
result<std::unique_ptr<outgoing>> start_over(gateway& from, const std::vector<integrations::chat::outgoing_webhook>& to,
                                             const std::string& state_directory,
                                             const controller::open_limited_store& open_store);

} // namespace quell::controller::webhooks
