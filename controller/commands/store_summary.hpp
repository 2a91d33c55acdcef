// The model call that summarised a conversation has ended well, and its summary becomes a row: both or neither, so that
// a stop that came first leaves no summary. The use of the call counts in any case.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/model_costs.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct store_summary {
  using answer = closed_model_call; ///< without this end: something else ended the call before
  static constexpr std::string_view name = "store_summary";

  model_call_end call;
  std::optional<records::message_record> summary; ///< without seq; none: it is not part of the scope's conversation
  std::optional<records::event_record> event;
};

store_summary::answer apply(const store_summary& command, const context& with);
std::string describe(const store_summary& command);

} // namespace quell::controller::commands
