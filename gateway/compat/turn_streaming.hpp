// Answers with a turn in another protocol: as a stream, or as one document at its end.
#pragma once

#include <memory>
#include <string>

#include "gateway/compat/client_turn.hpp"
#include "gateway/compat/turn_translator.hpp"

namespace quell::controller::http {

/// The stream of a turn's events as `to` tells them, after `first`. `held`: its ticket (`exchange::hold`).
response streamed_turn(exchange& x, const client_turn& begun, std::shared_ptr<turn_translator> to, std::string first,
                       std::shared_ptr<void> held);

/// The caller holds a ticket. Waits for the end of the turn, or of the client: then the turn is stopped, and the
/// answer reaches nobody.
awaitable<turn_end> whole_turn(exchange& x, const client_turn& begun);

} // namespace quell::controller::http
