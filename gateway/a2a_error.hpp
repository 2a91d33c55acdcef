// Errors of the Agent2Agent protocol (A2A 1.0, section 5.4), for both of its bindings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/exchange.hpp"

namespace quell::controller::http::a2a {

/// One row of the protocol's table of errors.
struct error_kind {
  int rpc_code;
  unsigned status;         ///< of HTTP+JSON
  std::string_view name;   ///< of google.rpc.Code
  std::string_view reason; ///< of google.rpc.ErrorInfo; "" = the error is not one of A2A's own
};
inline constexpr error_kind task_not_found{-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"};
inline constexpr error_kind task_not_cancelable{-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"};
inline constexpr error_kind push_not_supported{-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"};
inline constexpr error_kind unsupported_operation{-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"};
inline constexpr error_kind content_type_not_supported{-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"};
inline constexpr error_kind version_not_supported{-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"};
inline constexpr error_kind parse_error{-32700, 400, "INVALID_ARGUMENT", ""};
inline constexpr error_kind invalid_request{-32600, 400, "INVALID_ARGUMENT", ""};
inline constexpr error_kind method_not_found{-32601, 404, "NOT_FOUND", ""};
inline constexpr error_kind invalid_params{-32602, 400, "INVALID_ARGUMENT", ""};

/// Thrown by the handlers of this folder to end a request early; it never leaves the folder.
struct a2a_error {
  error_kind kind;
  std::string message;
  std::vector<field_error> fields = {};
};

a2a_error from_problem(const problem& p);
/// The error object of JSON-RPC.
nlohmann::ordered_json rpc_error(const a2a_error& e);
/// The answer of HTTP+JSON: a google.rpc.Status.
response error_answer(const a2a_error& e);

/// Whether requests for this path expect A2A's errors.
inline bool speaks_a2a(std::string_view path) { return path.starts_with("/a2a/"); }
/// A refusal of the gateway, at any such path. Paths of what A2A has and these agents do not get the protocol's error.
response problem_answer(const problem& p, const request& req);

} // namespace quell::controller::http::a2a
