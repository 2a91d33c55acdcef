// Creates one operation. Refused while the disk is almost full.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct create_operation {
  using answer = outcome<created>;
  static constexpr std::string_view name = "create_operation";

  create_order order;
  operation_id fresh; ///< the id to use if the order names none
};

create_operation::answer apply(const create_operation& command, const context& with);
/// Takes the view of what is shown of a new operation; nothing is shown of one that has ended since.
void look_again(created& made, const context& with);
std::string describe(const create_operation& command);
/// The description of a command that creates an operation, which gets the id `fresh` unless its order names one.
std::string describe_create(std::string_view name, const create_order& order, const operation_id& fresh);

/// The refusal of a create for lack of room. `why`: a clause, such as `the write failed`.
refusal no_room_to_create(const std::string& why);

} // namespace quell::controller::commands
