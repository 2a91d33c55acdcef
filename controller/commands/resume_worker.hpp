// Gives a drained worker work again.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct resume_worker {
  using answer = result<worker_view>;
  static constexpr std::string_view name = "resume_worker";

  std::string worker;
};

resume_worker::answer apply(const resume_worker& command, const context& with);
std::string describe(const resume_worker& command);

} // namespace quell::controller::commands
