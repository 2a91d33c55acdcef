// Directories that tasks must not see: where the worker keeps its key, and where a quelld of this machine keeps its
// tokens and its store (announced_states.hpp finds those at other places).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quell::worker {

/// `configured`, the worker's own `state`, the places where quelld keeps its state by default, and the directory above
/// `state` that is a quelld's (`quell up` puts its workers there). A directory that holds one of `needed` is left out,
/// and logged.
std::vector<std::string> hidden_from_tasks(const std::vector<std::string>& configured, const std::string& state,
                                           const std::vector<std::string>& needed,
                                           const std::map<std::string, std::string>& environment);

/// `directories` in their canonical form, without those that hold one of `needed`, which are logged.
std::vector<std::string> without_needed(const std::vector<std::string>& directories,
                                        const std::vector<std::string>& needed);

} // namespace quell::worker
