// The handlers of other people's protocols.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

awaitable<response> post_completion(exchange& x); // chat_completions.cpp
awaitable<response> list_models(exchange& x);
awaitable<response> post_ui_chat(exchange& x); // ui_chat.cpp
awaitable<response> get_ui_stream(exchange& x);

/// Throws unless this quelld has agents and the caller may talk to them. chat_completions.cpp
void need_turns(exchange& x);

} // namespace quell::controller::http
