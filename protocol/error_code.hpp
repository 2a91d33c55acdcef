// The codes of the errors that quell itself decides and shows to its clients, with their texts: `code` of a problem
// document, of a refused order and of a fault (docs: `quell help errors`).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quell {

enum class error_code : std::uint8_t {
  bad_json,
  bad_request,
  unauthenticated,
  forbidden,
  scope_forbidden,
  operation_not_found,
  cancel_not_found,
  worker_not_found,
  token_not_found,
  mcp_server_not_found,
  login_not_found,
  message_not_found,
  blob_not_found,
  not_found,
  method_not_allowed,
  stale_start,
  parent_ended,
  id_conflict,
  already_terminal,
  not_started,
  not_cancelling,
  not_paused,
  not_external,
  login_failed,
  needs_restart,
  turn_running,
  history_changed,
  history_in_use,
  not_changeable,
  worker_busy,
  events_expired,
  unknown_host,
  too_large,
  unsupported_media_type,
  invalid_field,
  invalid_values,
  unknown_field,
  bad_scope,
  bad_id,
  scope_outside_parent,
  no_such_worker,
  no_target,
  rate_limited,
  too_many_operations,
  budget,
  internal,
  storage_unavailable,
  not_ready,
  shutting_down
};

struct error_code_row {
  error_code code;
  std::string_view text;
};

/// All codes, in the enumerators' order.
inline constexpr auto error_codes = std::to_array<error_code_row>({
    {error_code::bad_json, "bad_json"},
    {error_code::bad_request, "bad_request"},
    {error_code::unauthenticated, "unauthenticated"},
    {error_code::forbidden, "forbidden"},
    {error_code::scope_forbidden, "scope_forbidden"},
    {error_code::operation_not_found, "operation_not_found"},
    {error_code::cancel_not_found, "cancel_not_found"},
    {error_code::worker_not_found, "worker_not_found"},
    {error_code::token_not_found, "token_not_found"},
    {error_code::mcp_server_not_found, "mcp_server_not_found"},
    {error_code::login_not_found, "login_not_found"},
    {error_code::message_not_found, "message_not_found"},
    {error_code::blob_not_found, "blob_not_found"},
    {error_code::not_found, "not_found"},
    {error_code::method_not_allowed, "method_not_allowed"},
    {error_code::stale_start, "stale_start"},
    {error_code::parent_ended, "parent_ended"},
    {error_code::id_conflict, "id_conflict"},
    {error_code::already_terminal, "already_terminal"},
    {error_code::not_started, "not_started"},
    {error_code::not_cancelling, "not_cancelling"},
    {error_code::not_paused, "not_paused"},
    {error_code::not_external, "not_external"},
    {error_code::login_failed, "login_failed"},
    {error_code::needs_restart, "needs_restart"},
    {error_code::turn_running, "turn_running"},
    {error_code::history_changed, "history_changed"},
    {error_code::history_in_use, "history_in_use"},
    {error_code::not_changeable, "not_changeable"},
    {error_code::worker_busy, "worker_busy"},
    {error_code::events_expired, "events_expired"},
    {error_code::unknown_host, "unknown_host"},
    {error_code::too_large, "too_large"},
    {error_code::unsupported_media_type, "unsupported_media_type"},
    {error_code::invalid_field, "invalid_field"},
    {error_code::invalid_values, "invalid_values"},
    {error_code::unknown_field, "unknown_field"},
    {error_code::bad_scope, "bad_scope"},
    {error_code::bad_id, "bad_id"},
    {error_code::scope_outside_parent, "scope_outside_parent"},
    {error_code::no_such_worker, "no_such_worker"},
    {error_code::no_target, "no_target"},
    {error_code::rate_limited, "rate_limited"},
    {error_code::too_many_operations, "too_many_operations"},
    {error_code::budget, "budget"},
    {error_code::internal, "internal"},
    {error_code::storage_unavailable, "storage_unavailable"},
    {error_code::not_ready, "not_ready"},
    {error_code::shutting_down, "shutting_down"},
});

constexpr std::string_view text_of(error_code code) { return error_codes[static_cast<std::size_t>(code)].text; }

/// The code with this text; nullopt if none is listed.
constexpr std::optional<error_code> error_code_of(std::string_view text) {
  for (const auto& row : error_codes)
    if (row.text == text) return row.code;
  return std::nullopt;
}

namespace error_code_checks {
/// True if each enumerator has its row, and each text is given once.
constexpr bool are_complete() {
  for (std::size_t i = 0; i < error_codes.size(); ++i) {
    const auto& row = error_codes[i];
    if (row.code != static_cast<error_code>(i) || error_code_of(row.text) != row.code || row.text.empty()) return false;
  }
  return error_codes.size() == static_cast<std::size_t>(error_code::shutting_down) + 1;
}
static_assert(are_complete());
} // namespace error_code_checks

/// JSON libraries would write the number of an enumerator, which means nothing outside: write `text_of`.
template <class Json>
void to_json(Json&, error_code) = delete;

} // namespace quell
