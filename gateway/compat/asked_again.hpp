// A page that asks a message of its conversation again: as it was, or edited.
#pragma once

#include <optional>
#include <string>

#include "gateway/compat/client_turn.hpp"

namespace quell::controller::http {

/// The labels of a page's turn: its chat, and the page's id of the message.
inline constexpr const char* chat_label = "ui.chat";
inline constexpr const char* page_message_label = "ui.message";

/// The newest turn of this scope that answers the message which the page knows by this id; nullopt: none does.
awaitable<std::optional<operation_id>> turn_of_page_message(exchange& x, scope_path scope, std::string id);

/// The message of `from`, or the newest one, is asked again, as by POST /v1/history; everything behind it goes. The
/// client owns the new turn.
awaitable<> ask_again(exchange& x, client_turn& begun, const client_request& wanted, std::optional<operation_id> from);

} // namespace quell::controller::http
