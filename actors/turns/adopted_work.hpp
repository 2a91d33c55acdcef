// The work of a call that goes on from before a restart of quelld: a task that its worker runs, or a sub-agent.
#pragma once

#include <memory>

#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

/// `task`: the row of the call's task.
std::unique_ptr<actors::tool_work> adopt_task(std::shared_ptr<agent_runtime> runtime, const agent_context& who,
                                              const tool_definition& tool, const operation_id& call,
                                              const tool_call& what, const records::operation_record& task,
                                              std::shared_ptr<file_versions> files);
/// `sub_agent`: the row of the call's sub-agent.
std::unique_ptr<actors::tool_work> adopt_sub_agent(std::shared_ptr<agent_runtime> runtime,
                                                   std::shared_ptr<turn_port> above, const operation_id& call,
                                                   const tool_call& what, const records::operation_record& sub_agent);

} // namespace quell::controller::turns
