// Tells the workers of this machine where the state is (protocol/state_marks.hpp).
#pragma once

#include <string>

namespace quell::controller {

/// Marks `directory`, and drops marks of directories that are gone. It stays when the process ends: so does the state.
/// Without a runtime directory that can be written it is logged what to do instead.
void mark_state(const std::string& directory);

} // namespace quell::controller
