// Gives a worker no more work and, if asked, stops what it has: at once, or at a deadline.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct drain_worker {
  using answer = result<worker_view>;
  static constexpr std::string_view name = "drain_worker";

  std::string worker;
  std::string reason;
  std::optional<milliseconds> deadline;
  worker_tasks tasks = worker_tasks::go_on;
  std::optional<records::person> by;
};

drain_worker::answer apply(const drain_worker& command, const context& with);
std::string describe(const drain_worker& command);

} // namespace quell::controller::commands
