// Starts a task that goes on without the call that started it, and ends that call with its handle.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

struct background_started {
  std::optional<fault> refused; ///< nothing was started
  bool call_ended = false;      ///< with this end; false: something else ended it before
};

struct start_background {
  using answer = background_started;
  static constexpr std::string_view name = "start_background";

  create_order order;
  operation_id id; ///< of the task
  scope_path scope;
  std::uint32_t limit = 0; ///< of detached tasks at once in the scope
  operation_id call;
  own_outcome end; ///< of the call
};

start_background::answer apply(const start_background& command, const context& with);
std::string describe(const start_background& command);

} // namespace quell::controller::commands
