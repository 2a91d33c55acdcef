// Reads the notes of an agent's workspace with a small task on the worker that holds it.
#pragma once

#include <functional>
#include <memory>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/project_memory.hpp"

namespace quell::controller::turns {

/// The turn waits no longer than this for a worker.
constexpr milliseconds project_wait{3'000};

/// The key under which a workspace's notes are remembered; "" = this agent has no workspace that can hold any.
std::string project_key(const agent_settings& agent, const scope_path& scope);

/// The same if a call of this tool may change files there, else "".
std::string project_written_by(const std::string& tool, const agent_settings& agent, const scope_path& scope);

/// True if the agent has a tool that works in its workspace. One that has none is told nothing about it.
bool works_in_workspace(const agent_settings& agent);

/// Calls `then` once, after `project_wait` at the latest, with what is known; nullptr = nothing. Any thread. The task
/// belongs to no turn: several can wait for it, and a stop of one ends neither it nor waits for it.
void find_project_notes(const std::shared_ptr<agent_runtime>& runtime, const agent_settings& agent,
                        const scope_path& scope, std::function<void(project_memory::notes)> then);

} // namespace quell::controller::turns
