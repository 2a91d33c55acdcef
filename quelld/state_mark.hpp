// Shows the workers of this machine where the state directory is (protocol/state_marks.hpp).
#pragma once

#include <string>

namespace quell::controller {

/// Marks `directory` and drops marks of directories that are gone. The mark stays after the process ends, as the state
/// does. If no runtime directory can be written, logs what to do instead.
void mark_state(const std::string& directory);

} // namespace quell::controller
