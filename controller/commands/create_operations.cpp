// Each create judges the tree that the earlier ones left.
#include "controller/commands/create_operations.hpp"

#include "controller/commands/description.hpp"

namespace quell::controller::commands {

create_operations::answer apply(const create_operations& command, const context& with) {
  create_operations::answer answers;
  answers.reserve(command.all.size());
  for (const auto& one : command.all) answers.push_back(apply(one, with));
  for (auto& made : answers) // a later create can have stopped an earlier one
    if (made) look_again(*made, with);
  return answers;
}

std::string describe(const create_operations& command) {
  description text(create_operations::name);
  text.count("operations", command.all.size());
  if (!command.all.empty()) text.by(command.all.front().order.by);
  return text.done();
}

} // namespace quell::controller::commands
