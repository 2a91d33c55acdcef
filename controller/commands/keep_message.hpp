// Adds a message to a conversation outside of any step of a turn.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct keep_message {
  using answer = nothing;
  static constexpr std::string_view name = "keep_message";

  records::message_record message; ///< without seq
};

keep_message::answer apply(const keep_message& command, const context& with);
std::string describe(const keep_message& command);

} // namespace quell::controller::commands
