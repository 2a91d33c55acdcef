// JSON about turns: the data of their events (SURFACE 7) and the blocks of their operations (SURFACE 2). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "actors/agent/ports.hpp"
#include "controller/open_questions.hpp"
#include "controller/records/records.hpp"
#include "protocol/event_type.hpp"
#include "protocol/id.hpp"

namespace quell::controller::turns {

/// `by_chat`: the message came from a chat, or from a user's chat bot. `context`: goes before the message in the turn's
/// own prompt; "" = nothing does. `budget`: JSON text; "" = none.
std::string turn_block(const message_id& message, const std::string& agent, const std::string& model, bool by_chat,
                       const std::string& context = {}, const std::string& budget = {});
std::string context_of(const std::string& block);
bool is_by_chat(const std::string& block);
/// The block of a turn whose author the chat service knows by this account, not by the author's id.
std::string with_account(const std::string& block, const std::string& account);
std::string account_in(const std::string& block); ///< "" = none
std::string call_block(const tool_call& call, bool is_exclusive, milliseconds timeout,
                       const std::string& approval_rule);

/// The `result` of a turn or sub-agent. `stop_reason` only if it completed.
std::string turn_result(const std::string& text, const model_usage& usage, std::uint64_t tool_calls,
                        std::optional<model_events::stop> stop_reason = std::nullopt);

/// The state of a live turn that its row does not have.
struct turn_now {
  std::string text;         ///< so far
  std::string current_tool; ///< "" = none
  std::uint64_t tool_calls = 0;
  model_usage usage;             ///< with its sub-agents
  std::string model_wait{};      ///< what the model call waits for: "queued" or "retry"; "" = nothing
  std::uint64_t model_calls = 0; ///< begun by it and its sub-agents
};
/// The block `turn` as clients see it: the stored block plus the additions of the result or the live turn.
std::string shown_turn_block(const std::string& block, const std::string& result, const std::optional<turn_now>& live);

/// The block `exchange` of a voice exchange: as stored at its beginning, and as shown with the additions of its result.
std::string exchange_block(const std::string& session);
std::string exchange_result(const std::string& transcript, bool was_spoken);
std::string shown_exchange_block(const std::string& block, const std::string& result);

struct event_text {
  event_type type;
  std::string data;
};
event_text turn_started(const operation_id& turn, const std::string& block);
/// A turn or sub-agent goes on after a restart: its text behind this offset is replaced by what follows.
event_text turn_resumed(std::uint64_t offset);
/// Whether the `result` of a row is not one, but counts how often a live turn was resumed.
bool counts_resumes(const std::string& result);
event_text text_event(std::uint64_t offset, const std::string& text);
event_text thinking_event(std::uint64_t offset, const std::string& text);
/// The end of a model call: its tokens, and the configured name of the model that was asked last.
event_text model_used(const operation_id& call, const std::string& model, const model_usage& usage);
/// The same of the words about a stop.
event_text model_used(const cancel_id& stop, const std::string& model, const model_usage& usage);
event_text model_noted(const actors::model_note& what);
/// `end`, `length`, `refusal` or `content_filter`.
const char* name_of_stop(model_events::stop why);
event_text call_news(const operation_id& call, const tool_call& what, const actors::agent_news& news);
/// How much the command of a call has printed, and its newest line.
struct printing {
  std::uint64_t stdout_bytes = 0, stderr_bytes = 0;
  std::string last_line; ///< valid UTF-8
};
/// A call that still runs; `so_far`: of a command that has begun.
event_text call_running(const tool_call& what, milliseconds elapsed, const std::optional<printing>& so_far);
event_text call_progress(const tool_call& what, milliseconds elapsed, const std::string& message, double progress,
                         std::optional<double> total);
/// The call is this task at a remote agent. `task_named_by` reads it from the event's data; "" = it names none.
event_text call_named(const tool_call& what, const std::string& task);
std::string task_named_by(const std::string& data);
event_text approval_required(const operation_id& call, const tool_call& what, const std::string& rule);
/// `question`: the answered one; absent: the call waited to begin. `input`: JSON text, with which the call was approved
/// instead of its own; "" = with its own.
event_text approval_resolved(const operation_id& call, approval_outcome how, const records::person& by,
                             const std::string& reason, const std::optional<operation_id>& question = std::nullopt,
                             const std::string& input = {});

/// A question of a running call to a human.
struct shown_question {
  operation_id id;
  std::string server;  ///< the name of the MCP server, or of the agent
  std::string message; ///< the question's text
  std::string form;    ///< JSON text: the schema of the values
  question_source who = question_source::server;
};
/// As JSON, the same in the call's row, in its event and in its block.
std::string question_text(const shown_question& question);
event_text question_event(const operation_id& call, const tool_call& what, const shown_question& question);
/// The block `tool` of a paused call as clients see it: with its question, if its row's `result` holds one.
std::string shown_call_block(const std::string& block, const std::string& result);
/// The data of the event turn_complete.
std::string completed_data(const actors::turn_effects::end& how);
/// The `reason` of a turn_abort.
const char* name_of_reason(actors::abort_reason r);

} // namespace quell::controller::turns
