// Thin wrappers for the system calls that glibc does not wrap as needed here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::worker {

/// Forks with clone3. `flags` are CLONE_NEW* flags; the child is born in `cgroup` (a directory's descriptor, -1 =
/// none). 0 in the child, the pid in the parent, -errno on failure. The caller must have one thread, or its child must
/// use system calls only.
pid_t clone_process(std::uint64_t flags, int cgroup);

boot_time boot_now();

/// "Permission denied (EACCES)".
std::string errno_text(int error);

/// A whole small file below `dir` (AT_FDCWD for paths), at most `limit` bytes; empty if it cannot be read.
std::string read_small_file(int dir, const char* path, std::size_t limit = 1 << 20);
/// 0, or the errno of the failure.
int write_small_file(int dir, const char* path, std::string_view text);

} // namespace quell::worker
