// Deletes folders that tasks have filled: of any depth, and also if their owner may not enter them.
#pragma once

#include <string>

namespace quell::worker {

/// Empties `folder`, in which nothing else works. Very deep folders are moved up first, so that no tree needs more
/// than a few descriptors. False if something is left.
bool empty_folder(const std::string& folder);

} // namespace quell::worker
