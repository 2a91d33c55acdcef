// A turn is about to begin: from now on its author owns work in its scope, unless it answers a refused stop.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/conversations.hpp"

namespace quell::controller::commands {

struct note_turn_begun {
  using answer = nothing;
  static constexpr std::string_view name = "note_turn_begun";

  operation_id turn;
  std::string owner;
  scope_path scope;
  turns::turn_of what = turns::turn_of::message;
  std::string agent = {}; ///< that answers
  turns::brought_by way = turns::brought_by::person;
};

note_turn_begun::answer apply(const note_turn_begun& command, const context& with);
std::string describe(const note_turn_begun& command);

} // namespace quell::controller::commands
