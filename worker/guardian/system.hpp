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
/// The same for a file of /proc, named without "/proc/".
std::string read_proc(const char* path, std::size_t limit = 1 << 20);
/// A descriptor of a file or directory of /proc, or -1.
int open_proc(const char* path, int flags);
/// From here on this process reads /proc through this descriptor, because its mount namespace has none; -1: by its path
/// again. The descriptor is the caller's.
void reach_proc_through(int directory);
/// 0, or the errno of the failure.
int write_small_file(int dir, const char* path, std::string_view text);

} // namespace quell::worker
