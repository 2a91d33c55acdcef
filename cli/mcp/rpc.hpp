// JSON-RPC as MCP has it on the server's side: messages read, answers written, versions agreed on. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cli/mcp/json.hpp"

namespace quell::cli::mcp {

inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;

struct message {
  enum class kind { request, notification, reply, invalid } what = kind::invalid;
  json id; ///< as it came: a "5" is not a 5
  std::string method;
  json params = json::object();
  std::string why; ///< invalid: what is wrong with it
};
/// `reply`: an answer, which nobody here waits for.
message read_message(json whole);

/// One line each, with its end.
std::string result_line(const json& id, json result);
std::string error_line(const json& id, int code, std::string_view why);

/// Versions with a handshake, newest first. Since `stateless_version` there is none: each request says its version.
inline constexpr std::string_view handshake_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
inline constexpr std::string_view stateless_version = "2026-07-28";
/// The version asked for if it is known, else the newest: the client decides whether it can live with that.
std::string_view agreed_version(std::string_view asked);
/// Only these let several messages stand in one list.
bool has_batches(std::string_view version);
/// What the request's `_meta` says; "" with a handshake.
std::string version_in(const json& params);
/// What every result of the stateless version carries.
json stateless_result(json result, std::string_view method, const json& server);

} // namespace quell::cli::mcp
