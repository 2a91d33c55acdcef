// The marks by which a quelld tells the workers of its machine where its state is, so that their tasks cannot see it. A
// mark is a symbolic link to the state directory, in a folder of the machine's runtime directory, which is cleared at
// boot.
#pragma once

#include <string>

namespace quell {

/// For a quelld that runs as root.
inline constexpr const char* state_marks_of_root = "/run/quell/states";
/// For other users: `<this>/UID/quell/states`.
inline constexpr const char* runtime_directories = "/run/user";
inline constexpr const char* state_marks_below = "/quell/states";
/// Identifies a quelld's directory: the file that quelld holds locked.
inline constexpr const char* state_lock_file = "quelld.lock";
/// Further marks in one folder are ignored.
inline constexpr std::size_t most_state_marks = 1000;

} // namespace quell
