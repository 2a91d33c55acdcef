// `quell acp`: an ACP agent on standard input and output.
#include <nlohmann/json.hpp>

#include "cli/acp/server.hpp"
#include "cli/commands/commands.hpp"
#include "protocol/scope.hpp"

namespace quell::cli {

exit_code execute(session& s, const acp_options& o) {
  auto below = conversation_scope(o.scope, s.globals.where, s.env) + "/acp";
  if (const auto scope = scope_path::parse(below); !scope)
    return s.fail(local_problem(local_code::usage, "--scope: " + scope.error().detail));
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  return acp::server(s, **controller, std::move(below), o.agent, o.reconnect).serve();
}

} // namespace quell::cli
