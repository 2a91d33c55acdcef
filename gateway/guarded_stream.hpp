// Ends a stream with the token that opened it, even while there is nothing to write.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Makes the stream of `answer` end at most about a second after the caller's token expires, or after the operation of
/// a task's token has ended. It breaks the stream off, so that a partial output does not look complete.
void end_with_token(exchange& x, response& answer);

/// Call it after a token or a sign-in was ended: its streams end at once.
void end_streams_of_ended_tokens(gateway_context& gw);

} // namespace quell::controller::http
