// `quell mcp`: an MCP server on standard input and output.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/lookup.hpp"
#include "cli/mcp/server.hpp"
#include "protocol/id.hpp"

namespace quell::cli {
namespace {

constexpr milliseconds least_lease{1'000};
constexpr milliseconds most_lease{std::chrono::hours(24)};

/// --parent (short ids too), else QUELL_OPERATION, "" for none.
answer<std::string> parent_of(session& s, api& controller, const mcp_options& o) {
  if (o.parent == "none") return std::string{};
  if (o.parent) return find_operation(controller, *o.parent);
  return s.env("QUELL_OPERATION").value_or("");
}

} // namespace

exit_code execute(session& s, const mcp_options& o) {
  if (o.lease < least_lease || o.lease > most_lease)
    return s.fail(local_problem(local_code::usage, "--lease must be between 1s and 1d"));
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto parent = parent_of(s, **controller, o);
  if (!parent) return s.fail(parent.error());
  if (parent->empty() && !o.scope)
    return s.fail(local_problem(local_code::usage,
                                "where may the agent work? Give --scope S (outside of a task nothing is "
                                "assumed): quell mcp --scope agents/me"));
  nlohmann::json create{{"id", operation_id::fresh().text()},
                        {"kind", "external"},
                        {"name", "mcp"},
                        {"title", "quell mcp"},
                        {"external", {{"lease_ms", o.lease.count()}}}};
  if (!parent->empty()) create["parent"] = *parent;
  if (o.scope) create["scope"] = *o.scope;
  return mcp::server(s, **controller, std::move(create), o.lease, this_caller()).serve();
}

} // namespace quell::cli
