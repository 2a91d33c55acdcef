// The types of events, with their texts: the store, the HTTP API, its streams, its filters and chat services use these.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/vocabulary.hpp"

namespace quell {

enum class event_type : std::uint8_t {
  operation_created,
  operation_started,
  operation_paused,
  operation_resumed,
  operation_cancelling,
  operation_completed,
  operation_failed,
  operation_cancelled,
  cancel_fenced,
  cancel_signalled,
  cancel_progress,
  cancel_settled,
  worker_joined,
  worker_unreachable,
  worker_lost,
  worker_draining,
  worker_removed,
  worker_disputed,
  worker_key_changed,
  audit,
  message_decided,
  acknowledgement,
  turn_start,
  turn_resumed,
  turn_steered,
  turn_complete,
  turn_abort,
  text_delta,
  thinking_delta,
  tool_start,
  tool_progress,
  tool_output,
  tool_timeout,
  tool_result,
  approval_required,
  approval_resolved,
  model_queued,
  model_asked,
  model_retry,
  model_fallback,
  model_usage,
  history_compacted,
  output,  ///< a piece of an operation's output: in the stream of that output alone, never stored, in no filter
  unlisted ///< a type that this program does not list; it has no text here: its event keeps the text as it was stored
};

struct event_type_row {
  event_type type;
  std::string_view text;
};

/// All listed types, in the enumerators' order.
inline constexpr auto listed_event_types = std::to_array<event_type_row>({
    {event_type::operation_created, "operation_created"},
    {event_type::operation_started, "operation_started"},
    {event_type::operation_paused, "operation_paused"},
    {event_type::operation_resumed, "operation_resumed"},
    {event_type::operation_cancelling, "operation_cancelling"},
    {event_type::operation_completed, "operation_completed"},
    {event_type::operation_failed, "operation_failed"},
    {event_type::operation_cancelled, "operation_cancelled"},
    {event_type::cancel_fenced, "cancel_fenced"},
    {event_type::cancel_signalled, "cancel_signalled"},
    {event_type::cancel_progress, "cancel_progress"},
    {event_type::cancel_settled, "cancel_settled"},
    {event_type::worker_joined, "worker_joined"},
    {event_type::worker_unreachable, "worker_unreachable"},
    {event_type::worker_lost, "worker_lost"},
    {event_type::worker_draining, "worker_draining"},
    {event_type::worker_removed, "worker_removed"},
    {event_type::worker_disputed, "worker_disputed"},
    {event_type::worker_key_changed, "worker_key_changed"},
    {event_type::audit, "audit"},
    {event_type::message_decided, "message_decided"},
    {event_type::acknowledgement, "acknowledgement"},
    {event_type::turn_start, "turn_start"},
    {event_type::turn_resumed, "turn_resumed"},
    {event_type::turn_steered, "turn_steered"},
    {event_type::turn_complete, "turn_complete"},
    {event_type::turn_abort, "turn_abort"},
    {event_type::text_delta, "text_delta"},
    {event_type::thinking_delta, "thinking_delta"},
    {event_type::tool_start, "tool_start"},
    {event_type::tool_progress, "tool_progress"},
    {event_type::tool_output, "tool_output"},
    {event_type::tool_timeout, "tool_timeout"},
    {event_type::tool_result, "tool_result"},
    {event_type::approval_required, "approval_required"},
    {event_type::approval_resolved, "approval_resolved"},
    {event_type::model_queued, "model_queued"},
    {event_type::model_asked, "model_asked"},
    {event_type::model_retry, "model_retry"},
    {event_type::model_fallback, "model_fallback"},
    {event_type::model_usage, "model_usage"},
    {event_type::history_compacted, "history_compacted"},
    {event_type::output, "output"},
});

/// "" for `unlisted`.
constexpr std::string_view text_of(event_type type) {
  return type == event_type::unlisted ? std::string_view() : listed_event_types[static_cast<std::size_t>(type)].text;
}

/// The type with this text; nullopt if none is listed.
constexpr std::optional<event_type> event_type_of(std::string_view text) {
  for (const auto& row : listed_event_types)
    if (row.text == text) return row.type;
  return std::nullopt;
}

namespace event_type_checks {
/// True if each enumerator but `unlisted` has its row, and each text is given once.
constexpr bool are_complete() {
  for (std::size_t i = 0; i < listed_event_types.size(); ++i) {
    const auto& row = listed_event_types[i];
    if (row.type != static_cast<event_type>(i) || event_type_of(row.text) != row.type || row.text.empty()) return false;
  }
  return listed_event_types.size() == static_cast<std::size_t>(event_type::unlisted);
}
static_assert(are_complete());
} // namespace event_type_checks

/// JSON libraries would write the number of an enumerator, which means nothing outside: write `text_of`.
template <class Json>
void to_json(Json&, event_type) = delete;

/// True for the events that say how an operation ended.
constexpr bool ends_operation(event_type type) {
  return type == event_type::operation_completed || type == event_type::operation_failed ||
         type == event_type::operation_cancelled;
}

/// The event of an operation that ended as `how`, which is terminal; `unlisted` for any other status.
constexpr event_type event_of_end(status how) {
  switch (how) {
  case status::completed:
    return event_type::operation_completed;
  case status::failed:
    return event_type::operation_failed;
  case status::cancelled:
    return event_type::operation_cancelled;
  case status::pending:
  case status::running:
  case status::paused:
  case status::cancelling:
    break;
  }
  return event_type::unlisted;
}

} // namespace quell
