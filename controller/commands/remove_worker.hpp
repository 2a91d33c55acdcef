// Removes a worker. Refused with live work unless `cancel`: then its work is stopped first, and it goes with the proof
// or with its lease.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct remove_worker {
  using answer = result<worker_view>;
  static constexpr std::string_view name = "remove_worker";

  std::string worker;
  worker_tasks tasks = worker_tasks::go_on;
  std::optional<records::person> by;
};

remove_worker::answer apply(const remove_worker& command, const context& with);
std::string describe(const remove_worker& command);

} // namespace quell::controller::commands
