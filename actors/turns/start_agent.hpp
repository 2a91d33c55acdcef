// Starts an agent: its tools, its port, its actor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/left_work.hpp"
#include "actors/turns/mcp_user.hpp"
#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

struct running_agent {
  std::shared_ptr<turn_port> port;
  std::shared_ptr<actors::agent_handle> handle;
};

/// The end of the operation of an agent whose actor died. This end stops everything that lives below it.
own_outcome broken_end();

/// The context of a sub-agent, by that of the agent above it. Without its tools, and without its first start.
agent_context context_below(const agent_context& above, const operation_id& sub_agent, const agent_settings& settings,
                            integrations::model_settings model);

/// Makes `start.port`. `context`: what is known about the conversation that it starts with. `resumed`: after a restart.
/// `opened`: its first model call, unless it opens that itself. `over`: see `actors::agent_start::over`.
running_agent start_agent(std::shared_ptr<agent_runtime> runtime, agent_context who, actors::agent_start start,
                          std::function<void(actors::agent_exit, const std::shared_ptr<turn_port>&)> over,
                          kept_context context = {}, resume_plan resumed = {},
                          std::optional<first_model_call> opened = {});

/// The result for its call of a sub-agent that is over.
actors::work_end end_of_sub_agent(const std::shared_ptr<agent_runtime>& runtime, actors::agent_exit how,
                                  turn_port& port);

/// The tools of an agent, including those of MCP servers; a server that does not answer is left out and noted. Every
/// `user` must be ended with mcp_host::user_over.
void find_tools(const std::shared_ptr<agent_runtime>& runtime, const agent_settings& agent, const mcp_user& user,
                std::function<void(tool_set)> done);

/// Registers and starts a sub-agent below a call. `runs` gets the handle to it, then `done` its end; if it could not be
/// started, only `done` is called.
void start_sub_agent(std::shared_ptr<agent_runtime> runtime, const agent_context& above, const operation_id& call,
                     const agent_settings& settings, const std::string& task,
                     std::function<void(std::shared_ptr<actors::agent_handle>)> runs,
                     std::function<void(actors::work_end)> done);

} // namespace quell::controller::turns
