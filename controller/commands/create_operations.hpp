// Creates many operations in order in one commit; each has its own outcome.
#pragma once

#include <vector>

#include "controller/commands/create_operation.hpp"

namespace quell::controller::commands {

struct create_operations {
  using answer = std::vector<outcome<created>>;
  static constexpr std::string_view name = "create_operations";

  std::vector<create_operation> all; ///< a later one can name an earlier one as its parent
};

create_operations::answer apply(const create_operations& command, const context& with);
std::string describe(const create_operations& command);

} // namespace quell::controller::commands
