// Tells the author of a stop about it: answers in words, reactions, and their events for the watchers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct acknowledge_stop {
  using answer = nothing;
  static constexpr std::string_view name = "acknowledge_stop";

  struct acknowledgement {
    std::optional<records::message_record> words; ///< kept in the conversation
    records::event_record event;
  };
  message_id stop; ///< the message that ordered the stop
  std::vector<acknowledgement> all;
  bool is_last = false; ///< its author has been answered: nothing follows, not even after a restart
};

acknowledge_stop::answer apply(const acknowledge_stop& command, const context& with);
std::string describe(const acknowledge_stop& command);

} // namespace quell::controller::commands
