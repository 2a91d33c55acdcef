// Keeps what a server reported about a call after the call had ended without proof.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct note_call_outcome {
  using answer = bool;
  static constexpr std::string_view name = "note_call_outcome";

  operation_id call;
  std::string json;
  bool insist = false; ///< also if the call has not ended yet
};

note_call_outcome::answer apply(const note_call_outcome& command, const context& with);
std::string describe(const note_call_outcome& command);

} // namespace quell::controller::commands
