// Stores an API token: a new one, or the newer state of one.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct put_token {
  using answer = result<void>;
  static constexpr std::string_view name = "put_token";

  records::token_record record;
};

put_token::answer apply(const put_token& command, const context& with);
std::string describe(const put_token& command);

} // namespace quell::controller::commands
