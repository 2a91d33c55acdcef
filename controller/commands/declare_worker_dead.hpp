// An admin declares that a lost worker and all live operations on it are dead. Refused for a worker that is connected:
// its work can be stopped with proof.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct declare_worker_dead {
  using answer = outcome<std::size_t>; ///< how many operations
  static constexpr std::string_view name = "declare_worker_dead";

  std::string worker;
  std::string reason;
  caller by;
};

declare_worker_dead::answer apply(const declare_worker_dead& command, const context& with);
std::string describe(const declare_worker_dead& command);

} // namespace quell::controller::commands
