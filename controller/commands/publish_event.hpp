// Adds an event for watchers that changes nothing else.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/records/records.hpp"

namespace quell::controller::commands {

struct publish_event {
  using answer = nothing;
  static constexpr std::string_view name = "publish_event";

  records::event_record event; ///< without id and time
};

publish_event::answer apply(const publish_event& command, const context& with);
std::string describe(const publish_event& command);

} // namespace quell::controller::commands
