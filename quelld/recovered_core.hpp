// The core from the state on disk.
#pragma once

#include <memory>
#include <string>

#include "controller/commit_gate.hpp"

namespace quell::controller {

/// Takes in everything that is live, and says in the log what `directory` held. Called before the core has a thread, so
/// that a store that cannot be read ends the start; faults: those of the journal.
result<std::unique_ptr<commit_gate>> recover_core(const commit_gate_settings& settings,
                                                  records::recovered_state recovered, commit_gate_edges& edges,
                                                  const std::string& directory);

/// Whether a tool call lives.
bool has_live_calls(const commit_gate& core);

} // namespace quell::controller
