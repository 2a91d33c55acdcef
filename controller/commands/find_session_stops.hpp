// Which external operations of a session must stop, for their owner; like `find_external_stop`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/external_operations.hpp"

namespace quell::controller::commands {

struct find_session_stops {
  using answer = std::vector<external_signal>;
  static constexpr std::string_view name = "find_session_stops";

  std::string session;
  caller by;
};

find_session_stops::answer apply(const find_session_stops& command, const context& with);
std::string describe(const find_session_stops& command);

} // namespace quell::controller::commands
