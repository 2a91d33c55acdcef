// The state of an agent after a restart: its calls without a result, their work, and what watchers were shown. The
// agent goes on from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/turns/history.hpp"
#include "actors/turns/tool_catalogue.hpp"
#include "controller/commands/begin_turn.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

struct left_call {
  operation_id operation;
  std::string call; ///< the model's id for it
  std::string name;
  status now = status::pending;
  /// The first of its tasks and sub-agents, oldest first, living or not; its own work is the first of all.
  std::vector<records::operation_record> below;
  std::optional<std::string> input{}; ///< JSON text: the one with which a human approved it, if that is another
  std::string remote_task{};          ///< at a remote agent; "" = none, or it is not known
  wall_time remote_task_since{};      ///< when it was named
  std::string asks{};                 ///< the id of its agent's open question to a human; "" = none
};

struct left_work {
  std::vector<left_call> calls;                      ///< those without a result
  std::set<std::string> shown_starts, shown_ends;    ///< calls whose tool_start, tool_result was published
  std::uint64_t text_points = 0, thought_points = 0; ///< code points that were published
  std::vector<records::operation_record> sub_agents; ///< that have ended, of earlier calls: their usage counts
  model_usage own_use;                               ///< by its own model calls that have ended, cut ones included
};

struct named_task {
  std::string name; ///< "" = the agent has named none, or nobody knows it any more
  wall_time since{};
};
/// Of a call at a remote agent.
result<named_task> named_task_of(store_reader& store, const operation_id& call);

/// `reported`: the history of this turn or sub-agent. Reads the store, so call it on a thread that can wait.
result<left_work> read_left_work(store_reader& store, const records::operation_record& agent,
                                 const model_history& reported);
/// The conversation of a sub-agent.
result<std::vector<records::kept_message>> read_aside(store_reader& store, const records::operation_record& sub_agent);

/// The works that go on, by their call.
using adopted_works = std::map<operation_id, records::operation_record>;

struct resume_plan {
  adopted_works adopted;
  /// Of remote agents and of open questions, by their call: the name by which the work goes on.
  std::map<operation_id, std::string> names;
  std::vector<operation_id> asking;  ///< of `names`: calls that ask people
  std::vector<operation_id> unknown; ///< calls whose fate nobody knows
  model_usage below;                 ///< of sub-agents that have ended
};
/// Decides for each call without a result; completes `reported` with it. Pure.
resume_plan plan_resume(model_history& reported, const left_work& left, const tool_set& tools, moment now);
/// From where on the text that was published is replaced; after `plan_resume`.
std::uint64_t resumed_from(const model_history& reported);
/// The command for it; `event`: the agent's turn_resumed.
commands::begin_turn resuming(const operation_id& agent, const model_history& reported, const resume_plan& plan,
                              records::event_record event);

/// The tokens in the `result` of a turn or sub-agent.
model_usage usage_of(const std::string& result);

} // namespace quell::controller::turns
