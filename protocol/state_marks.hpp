// How a quelld tells the workers of its machine where its state is, so that no task of theirs sees it: a symbolic link
// to the directory, in a folder of the machine's runtime directory, which a restart of the machine clears.
#pragma once

#include <string>

namespace quell {

/// Of a quelld that runs as root.
inline constexpr const char* state_marks_of_root = "/run/quell/states";
/// Of other users: `<this>/UID/quell/states`.
inline constexpr const char* runtime_directories = "/run/user";
inline constexpr const char* state_marks_below = "/quell/states";
/// What makes a directory a quelld's: the file that it holds locked.
inline constexpr const char* state_lock_file = "quelld.lock";
/// More in one folder are not looked at.
inline constexpr std::size_t most_state_marks = 1000;

} // namespace quell
