// Why an MCP server or a remote agent did not do what a call wanted: `code` of a fault that concerns one. Models read
// the texts in results, so they are never changed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/fault.hpp"

namespace quell {

enum class server_code : std::uint8_t {
  mcp_unreachable,  ///< no connection, a server error, or the connection was lost
  mcp_refused,      ///< JSON-RPC error, 4xx, no such tool, input that is not a JSON object
  mcp_timeout,      ///< it did not answer in time
  mcp_broken,       ///< its answers are not valid MCP
  mcp_login_needed, ///< it refused the request unread, for lack of a login or of rights
  a2a_unreachable,
  a2a_refused, ///< by the agent, or by quell, which cannot or must not talk to it
  a2a_broken,  ///< its answers are not valid A2A
  a2a_lost     ///< it does not know the task any more
};

struct server_code_row {
  server_code code;
  std::string_view text;
};

/// All codes, in the enumerators' order.
inline constexpr auto server_codes = std::to_array<server_code_row>({
    {server_code::mcp_unreachable, "mcp_unreachable"},
    {server_code::mcp_refused, "mcp_refused"},
    {server_code::mcp_timeout, "mcp_timeout"},
    {server_code::mcp_broken, "mcp_broken"},
    {server_code::mcp_login_needed, "mcp_login_needed"},
    {server_code::a2a_unreachable, "a2a_unreachable"},
    {server_code::a2a_refused, "a2a_refused"},
    {server_code::a2a_broken, "a2a_broken"},
    {server_code::a2a_lost, "a2a_lost"},
});

constexpr std::string_view name_of(server_code code) { return server_codes[static_cast<std::size_t>(code)].text; }

namespace server_code_checks {
constexpr bool are_complete() {
  for (std::size_t i = 0; i < server_codes.size(); ++i)
    if (server_codes[i].code != static_cast<server_code>(i)) return false;
  return server_codes.size() == static_cast<std::size_t>(server_code::a2a_lost) + 1;
}
static_assert(are_complete());
} // namespace server_code_checks

inline fault failure_of(server_code code, std::string detail) {
  return {std::string(name_of(code)), std::move(detail), {}};
}
inline tl::unexpected<fault> failure(server_code code, std::string detail) {
  return tl::unexpected<fault>(failure_of(code, std::move(detail)));
}
inline bool has_code(const fault& f, server_code code) { return f.code == name_of(code); }
/// The server, or the agent, has the call and will not do it.
inline bool is_refusal(const fault& f) {
  return has_code(f, server_code::mcp_refused) || has_code(f, server_code::a2a_refused);
}

} // namespace quell
