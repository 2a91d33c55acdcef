// A human decides whether a call may begin.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

struct decide_call {
  using answer = std::optional<outcome<operation_id>>;
  static constexpr std::string_view name = "decide_call";

  operation_id call;
  decision what;
  records::call_outcome denied_result; ///< that the call gets if it is denied
  bool has_agent = true;               ///< false: a call that waits keeps waiting, until its agent is resumed
};

decide_call::answer apply(const decide_call& command, const context& with);
std::string describe(const decide_call& command);

} // namespace quell::controller::commands
