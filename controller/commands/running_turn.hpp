// The effect of a message on the turn that runs in its scope: it waits behind it, steers it or supersedes it.
#pragma once

#include <optional>
#include <string>

#include "controller/commands/context.hpp"
#include "controller/conversations.hpp"
#include "controller/message_order.hpp"

namespace quell::controller::commands {

struct met_turn {
  turns::during_turn manner = turns::during_turn::queue;
  std::optional<operation_id> turn; ///< absent: it waits
  bool lacks_standing = false;      ///< it would supersede, and its author may not
  std::string unheard = {};         ///< it would steer, and asks for this, which the running turn cannot give it
};

/// A token of role chat speaks for a chat, and whoever asks a chat's message again repeats the chat's words.
turns::brought_by way_of(const turns::message_order& order);
/// A turn is steered by the author of its message alone, because it acts for him, and by a chat only if a chat began
/// it; it is superseded by whoever could stop it with a word. Only reads.
met_turn meet_running_turn(const turns::message_order& order, const context& with);
/// The cancel of the turn that the message supersedes.
cancel_order superseding(const turns::message_order& order, const operation_id& turn, boot_time received);

} // namespace quell::controller::commands
