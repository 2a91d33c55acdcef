// Registers a sub-agent below a call, with its task as the first message of its conversation.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct begin_sub_agent {
  using answer = outcome<created>;
  static constexpr std::string_view name = "begin_sub_agent";

  create_order order;
  operation_id id;
  records::message_record task;
};

begin_sub_agent::answer apply(const begin_sub_agent& command, const context& with);
std::string describe(const begin_sub_agent& command);

} // namespace quell::controller::commands
