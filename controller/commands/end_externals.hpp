// An owner reports how its external operations ended; each report has its own outcome.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/external_operations.hpp"

namespace quell::controller::commands {

struct end_externals {
  using answer = std::vector<outcome<operation_id>>;
  static constexpr std::string_view name = "end_externals";

  std::vector<owner_report> reports;
  caller by;
};

end_externals::answer apply(const end_externals& command, const context& with);
std::string describe(const end_externals& command);

} // namespace quell::controller::commands
