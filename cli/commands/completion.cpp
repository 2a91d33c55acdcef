// `quell completion SHELL`.
#include "cli/completion.hpp"

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"

namespace quell::cli {

exit_code execute(session& s, const completion_options& o) {
  s.print(completion_script(o.shell, command_descriptions()));
  return exit_code::done;
}

} // namespace quell::cli
