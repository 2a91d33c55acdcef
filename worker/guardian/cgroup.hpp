// The worker's own part of the cgroup v2 tree: found, made, killed, counted, removed. Nothing outside of it is ever
// touched.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell::worker {

/// The path of this process's own cgroup in the file system ("/sys/fs/cgroup/user.slice/…"), or a fault that says why
/// it has none.
result<std::string> own_cgroup();
/// As `own_cgroup`, in the v1 hierarchy of a controller.
result<std::string> own_cgroup_v1(std::string_view controller);

/// A worker that moved, so that controllers can be enabled, lives in `<subtree><own_suffix>` of its own cgroup.
inline constexpr const char* own_suffix = ".self";

/// The mount points of file systems whose type begins with `type`.
std::vector<std::string> mounts_of_type(std::string_view type);

/// Makes `name` below the directory `parent` and returns a descriptor of it (O_PATH), or -errno. An existing one is
/// opened.
int make_cgroup(int parent, const char* name);

/// Orders the kernel to kill every process in and below the cgroup. 0 or errno (ENOENT: the cgroup no longer exists).
/// Processes that enter later survive: repeat the call.
int kill_cgroup(int dir);

/// True while a live process is in or below it (zombies do not count); false also if the cgroup no longer exists.
bool cgroup_populated(int dir);

/// Removes the cgroup `name` below `parent` with its sub-cgroups. 0 means that the kernel found no process in any of
/// them; otherwise errno.
int remove_cgroup(int parent, const char* name);

/// Pids in and below it, at most `limit`, as numbered in this namespace (0, a process of an outer namespace, is
/// omitted).
std::vector<pid_t> cgroup_processes(int dir, std::size_t limit);

/// Kills everything in the directory `path` and below, and removes everything below it; `path` itself stays. Waits
/// until it is empty, at most `limit_ms`. Returns the number of processes found, or a fault that names one still alive.
result<std::size_t> empty_subtree(const std::string& path, int limit_ms);

/// True for a valid subtree name: a single path segment, so that it cannot point elsewhere.
bool is_subtree_name(std::string_view name);

} // namespace quell::worker
