// Writes audit entries before the answer, so that the receiver of an answer always finds its entry, even after a crash
// of quelld.
#pragma once

#include <string>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Records the action of this request and waits until the entry is durable. Call it before the answer.
awaitable<> audited(exchange& x, std::string action, std::string target, caller by);

} // namespace quell::controller::http
