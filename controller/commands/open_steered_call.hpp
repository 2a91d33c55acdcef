// Registers a model call of a turn, and with it delivers the messages that steer the turn: they become part of its
// conversation in the same transaction. A turn that was told to stop takes none of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/open_model_call.hpp"
#include "controller/local_operations.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct steered_call {
  outcome<created> call;
  std::vector<operation_id> delivered; ///< the turns whose messages the model is told now
};

struct open_steered_call {
  using answer = steered_call;
  static constexpr std::string_view name = "open_steered_call";

  /// A turn that waits in the queue, with the copy of its message for the turn that it steers.
  struct steering {
    operation_id turn;
    records::message_record message;
    own_outcome end; ///< of the waiting turn
    records::event_record event;
  };
  open_model_call call;
  std::vector<steering> all;
};

open_steered_call::answer apply(const open_steered_call& command, const context& with);
std::string describe(const open_steered_call& command);

} // namespace quell::controller::commands
