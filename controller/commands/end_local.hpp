// The own work of an operation of this process has ended.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

struct end_local {
  using answer = bool;
  static constexpr std::string_view name = "end_local";

  operation_id id;
  own_outcome end;
};

end_local::answer apply(const end_local& command, const context& with);
std::string describe(const end_local& command);

} // namespace quell::controller::commands
