// Calls that run as tasks on a worker: the task of a call, and the result of its end. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/tool_catalogue.hpp"
#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/task.hpp"

namespace quell::controller::turns {

/// The work that a task must not overtake: operations being stopped in this scope that do not lie below this root.
struct predecessor {
  scope_path scope;
  operation_id root;
  operation_id call; ///< the call that waits; if it is stopped it no longer waits
};

class workspace_placer;

struct task_request {
  task_spec spec;
  std::string stdin_text;  ///< with `spec.stdin_open`: write it and close; else empty
  milliseconds timeout{0}; ///< of the call; 0 = none
  std::optional<predecessor> follows = std::nullopt;
  std::shared_ptr<workspace_placer> workspace = nullptr; ///< binds `spec` to the conversation's; none: it is as it is
  std::string writes_into{}; ///< the key of the workspace's notes (`project_key`), if it may change files; else empty
  std::size_t most_output = 512 << 10; ///< of each stream; more is left out in the middle
  bool background = false; ///< exec: the call answers at once and the command goes on; `timeout` is the command's
};

/// `input_json` as the model wrote it. exec: `sh -c` or argv in the workspace; the file tools: `quell-tool` with its
/// request on stdin. `if_version`: the edit is refused if the file has another version; "" = any version. Fault
/// `invalid_input` for the model.
result<task_request> task_for_call(const tool_definition& tool, const agent_settings& agent,
                                   const std::string& input_json, const std::string& if_version = {});

/// Reads AGENTS.md and the heads of the skills of the agent's workspace.
task_request project_task(const agent_settings& agent);

/// An agent that is a command: replaces `{prompt}` in its arguments, or writes the prompt to stdin if no argument has
/// it. With `acp` stdin stays open and nothing is written to it here: its driver speaks ACP.
result<task_request> task_for_command(const agent_settings& agent, const std::string& prompt);

struct call_outcome {
  bool ok = false;
  std::string result; ///< JSON text, at most 1 MiB
};
constexpr std::size_t most_shown_file = 5 << 20;    ///< of an image or a document that `read` shows
constexpr std::size_t most_stream_bytes = 64 << 10; ///< of each stream of exec in its result

/// The model's result for an ended task. `out`, `err`: any bytes; `dropped_bytes`: the number of missing ones. Passes
/// quell-tool's answer on if there is one.
/// `note`: a sentence for the model, "" = none.
call_outcome call_outcome_of(const tool_definition& tool, const exit_state& exit, const std::string& out,
                             const std::string& err, std::uint64_t dropped_bytes, const std::string& note = {});
/// About the processes that a command left running; "" = there were none.
std::string note_of_left(std::uint32_t total, const std::vector<process_view>& first);
/// The same for an MCP tool's answer: `ok`, or an error of its own. `answer`: JSON text as in
/// mcp_call_events::finished.
call_outcome mcp_outcome_of(bool ok, const std::string& answer);
/// The same for a command that is an agent: its stdout is the answer.
call_outcome command_outcome_of(const agent_settings& agent, const exit_state& exit, const std::string& out,
                                const std::string& err, std::uint64_t dropped_bytes);

} // namespace quell::controller::turns
