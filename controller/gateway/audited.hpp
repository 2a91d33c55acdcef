// What is answered is in the audit: whoever reads the answer finds the entry, whatever happens to quelld then.
#pragma once

#include <string>

#include "controller/gateway/exchange.hpp"

namespace quell::controller::http {

/// Writes who did what through this request, and waits until that is durable. Call it before the answer.
awaitable<> audited(exchange& x, std::string action, std::string target, caller by);

} // namespace quell::controller::http
