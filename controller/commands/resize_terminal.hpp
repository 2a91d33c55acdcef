// Tells a running task's terminal its new size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct resize_terminal {
  using answer = result<void>;
  static constexpr std::string_view name = "resize_terminal";

  operation_id operation;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
};

resize_terminal::answer apply(const resize_terminal& command, const context& with);
std::string describe(const resize_terminal& command);

} // namespace quell::controller::commands
