// Keeps what a server reported about a call after the call had ended without proof.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

/// Whose outcome is noted: of a call that has ended, or also of one that goes on.
enum class noted_call : std::uint8_t { ended, any };

struct note_call_outcome {
  using answer = bool;
  static constexpr std::string_view name = "note_call_outcome";

  operation_id call;
  std::string json;
  noted_call which = noted_call::ended;
};

note_call_outcome::answer apply(const note_call_outcome& command, const context& with);
std::string describe(const note_call_outcome& command);

} // namespace quell::controller::commands
