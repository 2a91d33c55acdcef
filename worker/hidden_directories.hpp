// Directories that tasks must not see: the worker's key, and the tokens and store of a quelld of this machine
// (announced_states.hpp finds those in other places).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quell::worker {

/// `configured`, the worker's own `state`, the default places of quelld's state, and the directory above `state` if it
/// is a quelld's (`quell up` puts its workers there). A directory that contains one of `needed` is omitted and logged.
std::vector<std::string> hidden_from_tasks(const std::vector<std::string>& configured, const std::string& state,
                                           const std::vector<std::string>& needed,
                                           const std::map<std::string, std::string>& environment);

/// Adds the directory of workspaces unless it lies in one of `hidden`.
void hide_workspaces(std::vector<std::string>& hidden, const std::string& workspaces);

/// `directories` in canonical form, without those that contain one of `needed`; these are logged.
std::vector<std::string> without_needed(const std::vector<std::string>& directories,
                                        const std::vector<std::string>& needed);

} // namespace quell::worker
