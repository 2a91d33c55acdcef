// The messages to and from MCP servers that both transports share. For the .cpp files of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/mcp/mcp.hpp"
#include "integrations/models/json.hpp"

namespace quell::integrations::mcp {

/// Versions with a handshake (`initialize`), newest first. From `stateless_version` on there is none: each request is
/// self-contained.
constexpr std::string_view handshake_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view stateless_version = "2026-07-28";
bool knows_handshake_version(std::string_view version);

json initialize_params();
/// `params` of a request in the stateless version.
json with_stateless_meta(json params);
json list_params(const std::string& cursor);
/// `operation`: the id of the call's operation, sent as `quell/operation`; "" = none.
json call_params(const std::string& tool, json input, std::uint64_t progress_token, const std::string& operation);
json cancel_params(std::uint64_t id, std::string_view reason);

/// The input of a call as an object; nullopt if it is not one.
std::optional<json> input_object(const std::string& input_json);

/// The list of tools, read page by page.
class tool_pages {
 public:
  struct step {
    std::optional<std::string> next_cursor; ///< empty: the list is complete
    std::vector<std::string> bad_messages;
  };
  /// Fault: the page is not a list of tools.
  result<step> take(const std::string& who, const json& page);
  std::vector<mcp_tool>& tools() { return tools_; }

 private:
  std::optional<std::string> add(const json& tool);

  std::vector<mcp_tool> tools_;
  std::set<std::string> names_, cursors_;
  std::size_t bytes_ = 0, pages_ = 0;
};

/// The progress token that the params of a notification name, if any.
std::optional<std::uint64_t> progress_token(const json& params);
mcp_call_events::progress progress_of(const json& params);

/// Whether this result of `tools/call` requires input.
bool wants_input(const json& result);
/// The end of a call that has this result of `tools/call`.
mcp_call_event ended_with(const std::string& who, const json& result);
/// A JSON-RPC error as a fault; `what` reads like "the call of tool \"x\"".
fault of_error(const std::string& who, std::string_view what, const json& error);
/// `server "name"`
std::string who_is(const std::string& name);

// The refusal of a question that belongs to no call, or to an unknown one.
constexpr std::int64_t no_call_asks = -32600;
constexpr std::string_view which_call =
    "it is not clear which call asks: put the call's progressToken or quell/operation into the question's _meta";

/// The answer to a server request that is not about a call: a whole line.
std::string answer_to_server(const json& id, std::string_view method);

} // namespace quell::integrations::mcp
