// Finds the worker of the task, then sends it one frame.
#include "controller/commands/resize_terminal.hpp"

#include "controller/commands/description.hpp"
#include "controller/fleet.hpp"

namespace quell::controller::commands {

resize_terminal::answer apply(const resize_terminal& command, const context& with) {
  const auto& [id, rows, columns] = command;
  const auto view = with.operations.view(id, with.now);
  if (!view || !view->hot.worker)
    return failure(error_code::not_found, "operation " + id.text() + " is not running on a worker");
  return with.workers.resize(id, *view->hot.worker, rows, columns, with.now);
}

std::string describe(const resize_terminal& command) {
  return description(resize_terminal::name)
      .shown("operation", command.operation.text())
      .count("rows", command.rows)
      .count("columns", command.columns)
      .done();
}

} // namespace quell::controller::commands
