// An owner reports that its external operations are alive, and learns which of them must stop.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/external_operations.hpp"

namespace quell::controller::commands {

struct renew_externals {
  using answer = renewal_answer;
  static constexpr std::string_view name = "renew_externals";

  renewal_order order;
};

renew_externals::answer apply(const renew_externals& command, const context& with);
std::string describe(const renew_externals& command);

} // namespace quell::controller::commands
