// Decides which calls of the agent `default` wait for a human because a chat reached it, without any rule. Nobody has
// configured the rights of that agent, and any member of a chat can ask it; so what it spawns asks like itself. Pure.
#pragma once

#include <string>

#include "actors/turns/agent_runtime.hpp"

namespace quell::controller::turns {

/// True for the agent `default` and for all that is below it.
bool is_default_or_below(const agent_context& who);

/// The rule by which this call waits: `exec: by chat` for a command line, and for a sub-agent that is a program.
/// "": none, or `[chat] default_agent_asks` is off.
std::string question_by_chat(const agent_context& who, const turn_settings& settings, const tool_call& call);

} // namespace quell::controller::turns
