// JSON-RPC as MCP defines it for a server: reads messages, writes answers, agrees on a version. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cli/mcp/json.hpp"

namespace quell::cli::mcp {

inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;

/// One line of the peer; `is_discarded` if it is not JSON, or nested more than 100 levels deep: values are copied and
/// written recursively.
json read_line(std::string_view line);

struct message {
  enum class kind { request, notification, reply, invalid } what = kind::invalid;
  json id; ///< as received: a "5" is not a 5
  std::string method;
  json params = json::object();
  std::string why; ///< for invalid: the error in it
};
/// `reply`: an answer, which this server never expects.
message read_message(json whole);

/// One line each, with its end.
std::string result_line(const json& id, json result);
std::string error_line(const json& id, int code, std::string_view why);

/// Versions with a handshake, newest first. From `stateless_version` on there is none: each request names its version.
inline constexpr std::string_view handshake_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
inline constexpr std::string_view stateless_version = "2026-07-28";
/// The requested version if it is known, otherwise the newest: the client decides whether it accepts that.
std::string_view agreed_version(std::string_view requested);
/// Only these versions allow several messages in one list.
bool has_batches(std::string_view version);
/// The version in the request's `_meta`; "" with a handshake.
std::string version_in(const json& params);
/// Adds the fields that every result of the stateless version has.
json stateless_result(json result, std::string_view method, const json& server);

} // namespace quell::cli::mcp
