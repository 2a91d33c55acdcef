// Opens files so that no path leads out of a folder, and describes failures in words.
#pragma once

#include <string>
#include <sys/types.h>

#include "protocol/fault.hpp"

namespace quell::worker::tools {

/// A descriptor of `path` beneath the folder `root`, or -1 with errno.
int open_beneath(int root, const std::string& path, int flags, mode_t mode);
/// The fault for this path, from errno.
tl::unexpected<fault> path_fault(const std::string& path);
/// The part before the last `/`; "." if there is none.
std::string folder_of(const std::string& path);
std::string name_in_folder(const std::string& path);

} // namespace quell::worker::tools
