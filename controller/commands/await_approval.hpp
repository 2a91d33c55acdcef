// A call waits for a human before it begins.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/records/records.hpp"

namespace quell::controller::commands {

struct await_approval {
  using answer = bool;
  static constexpr std::string_view name = "await_approval";

  operation_id call;
  records::event_record event; ///< that asks the human
};

await_approval::answer apply(const await_approval& command, const context& with);
std::string describe(const await_approval& command);

} // namespace quell::controller::commands
