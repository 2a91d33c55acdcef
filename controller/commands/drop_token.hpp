// Drops an API token.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct drop_token {
  using answer = result<void>;
  static constexpr std::string_view name = "drop_token";

  token_id id;
};

drop_token::answer apply(const drop_token& command, const context& with);
std::string describe(const drop_token& command);

} // namespace quell::controller::commands
