// Why an operation failed, in quell's own words: `code` of its `error`, and of the result of a call that quell itself
// ends. The field stays a text, because the owner of an external operation, a tool or a server may write any code
// there; a code of quell's is written and asked for by its name here (docs/api.md has the list).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/fault.hpp"

namespace quell {

enum class failure_code : std::uint8_t {
  // Of any operation:
  error, ///< nothing more exact is known
  start_failed,
  timeout,        ///< it ran for longer than its timeout
  worker_lost,    ///< its worker, and with it the work
  heartbeat_lost, ///< the owner of an external operation was silent for its lease
  interrupted,    ///< by a restart of quelld, or inside quell
  forbidden_move, ///< a mistake of quell's, which stops the operation
  // Of a model call, or of the turn around it:
  model_overloaded,  ///< too many requests there (429, 503, 529), and the retries are used up
  model_unavailable, ///< no connection, a lost connection before the answer, or a server error
  model_unpaid,      ///< the account behind the key cannot pay (402, `insufficient_quota` and the like)
  model_refused,     ///< it refuses (4xx) because of key, model name or request; or the settings are wrong
  model_timeout,     ///< one of the time limits
  model_cut,         ///< the answer broke off before its end
  model_broken,      ///< the answer is not a valid stream, or too large
  context_overflow,  ///< the conversation is longer than the model's context
  budget,            ///< the agent's budget is used up
  repetition,        ///< the model made the same call again and again
  too_many_calls,    ///< in one answer
  answer_too_large,
  // Of a tool call:
  cancelled,         ///< what it ran was stopped, and not by its own cancel
  cancelled_by_user, ///< only in results: the operation is `cancelled`
  denied,            ///< by a human or a rule
  invalid_input,
  unknown_tool,
  unknown_task,
  unknown_model,
  not_configured,
  not_sent,        ///< cancelled before the server got it
  outcome_unknown, ///< it was sent, and nobody knows what became of it
  not_text,
  too_deep,            ///< no further sub-agent below this one
  too_many_background, ///< commands that run on
  too_many_sub_agents,
  tool_broken,       ///< a tool of quell's answered with something that is not a result
  tool_failed,       ///< the server's own words follow
  agent_unreachable, ///< an ACP agent
  mcp_unreachable,
  workspace_busy,      ///< work that was stopped there is still ending
  workspace_gone,      ///< the files of the conversation are lost
  workspace_isolation, ///< no worker can keep it apart from the others
  workspace_full       ///< it holds more than its quota
};

struct failure_code_row {
  failure_code code;
  std::string_view text;
};

/// All codes, in the enumerators' order.
inline constexpr auto failure_codes = std::to_array<failure_code_row>({
    {failure_code::error, "error"},
    {failure_code::start_failed, "start_failed"},
    {failure_code::timeout, "timeout"},
    {failure_code::worker_lost, "worker_lost"},
    {failure_code::heartbeat_lost, "heartbeat_lost"},
    {failure_code::interrupted, "interrupted"},
    {failure_code::forbidden_move, "forbidden_move"},
    {failure_code::model_overloaded, "model_overloaded"},
    {failure_code::model_unavailable, "model_unavailable"},
    {failure_code::model_unpaid, "model_unpaid"},
    {failure_code::model_refused, "model_refused"},
    {failure_code::model_timeout, "model_timeout"},
    {failure_code::model_cut, "model_cut"},
    {failure_code::model_broken, "model_broken"},
    {failure_code::context_overflow, "context_overflow"},
    {failure_code::budget, "budget"},
    {failure_code::repetition, "repetition"},
    {failure_code::too_many_calls, "too_many_calls"},
    {failure_code::answer_too_large, "answer_too_large"},
    {failure_code::cancelled, "cancelled"},
    {failure_code::cancelled_by_user, "cancelled_by_user"},
    {failure_code::denied, "denied"},
    {failure_code::invalid_input, "invalid_input"},
    {failure_code::unknown_tool, "unknown_tool"},
    {failure_code::unknown_task, "unknown_task"},
    {failure_code::unknown_model, "unknown_model"},
    {failure_code::not_configured, "not_configured"},
    {failure_code::not_sent, "not_sent"},
    {failure_code::outcome_unknown, "outcome_unknown"},
    {failure_code::not_text, "not_text"},
    {failure_code::too_deep, "too_deep"},
    {failure_code::too_many_background, "too_many_background"},
    {failure_code::too_many_sub_agents, "too_many_sub_agents"},
    {failure_code::tool_broken, "tool_broken"},
    {failure_code::tool_failed, "tool_failed"},
    {failure_code::agent_unreachable, "agent_unreachable"},
    {failure_code::mcp_unreachable, "mcp_unreachable"},
    {failure_code::workspace_busy, "workspace_busy"},
    {failure_code::workspace_gone, "workspace_gone"},
    {failure_code::workspace_isolation, "workspace_isolation"},
    {failure_code::workspace_full, "workspace_full"},
});

constexpr std::string_view name_of(failure_code code) { return failure_codes[static_cast<std::size_t>(code)].text; }

/// The code with this text; nullopt: somebody else's.
constexpr std::optional<failure_code> failure_code_of(std::string_view text) {
  for (const auto& row : failure_codes)
    if (row.text == text) return row.code;
  return std::nullopt;
}

namespace failure_code_checks {
/// True if each enumerator has its row, and each text is given once.
constexpr bool are_complete() {
  for (std::size_t i = 0; i < failure_codes.size(); ++i) {
    const auto& row = failure_codes[i];
    if (row.code != static_cast<failure_code>(i) || failure_code_of(row.text) != row.code) return false;
  }
  return failure_codes.size() == static_cast<std::size_t>(failure_code::workspace_full) + 1;
}
static_assert(are_complete());
} // namespace failure_code_checks

inline fault failure_of(failure_code code, std::string detail, std::string pointer = {}) {
  return {std::string(name_of(code)), std::move(detail), std::move(pointer)};
}
inline tl::unexpected<fault> failure(failure_code code, std::string detail, std::string pointer = {}) {
  return tl::unexpected<fault>(failure_of(code, std::move(detail), std::move(pointer)));
}
inline bool has_code(const fault& f, failure_code code) { return f.code == name_of(code); }

/// JSON libraries would write the number of an enumerator, which means nothing outside: write `name_of`.
template <class Json>
void to_json(Json&, failure_code) = delete;

} // namespace quell
