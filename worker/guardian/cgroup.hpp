// The worker's own corner of the cgroup v2 tree: found, made, killed, counted, removed. Nothing outside of it is ever
// touched.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell::worker {

/// Where this process's own cgroup lies in the file system ("/sys/fs/cgroup/user.slice/…"), or a fault that says why
/// there is none.
result<std::string> own_cgroup();
/// The same in the v1 hierarchy of a controller.
result<std::string> own_cgroup_v1(std::string_view controller);

/// A worker that moved aside, so that controllers can be enabled, lives in `<subtree><own_suffix>` of its own cgroup.
inline constexpr const char* own_suffix = ".self";

/// Where file systems whose type begins so are mounted.
std::vector<std::string> mounts_of_type(std::string_view type);

/// Makes `name` below the directory `parent` and returns a descriptor of it (O_PATH), or -errno. An existing one is
/// opened.
int make_cgroup(int parent, const char* name);

/// Orders the kernel to kill every process in and below the cgroup. 0 or errno (ENOENT: it is gone). Entrants after it
/// live: repeat.
int kill_cgroup(int dir);

/// True while a live process is in or below it (zombies do not count); false also when it is gone.
bool cgroup_populated(int dir);

/// Removes the cgroup `name` below `parent` with its sub-cgroups. 0 means that the kernel found no process in any of
/// them; else errno.
int remove_cgroup(int parent, const char* name);

/// Pids (as seen from here; 0 for those of an outer namespace are left out) in and below it, at most `limit`.
std::vector<pid_t> cgroup_processes(int dir, std::size_t limit);

/// Kills everything in the directory `path` and below, and removes what is below it; `path` itself stays. Waits until
/// it is empty, at most `limit_ms`. Returns how many processes it found, or a fault that names one that is still there.
result<std::size_t> empty_subtree(const std::string& path, int limit_ms);

/// A subtree's name is one path segment, so that it cannot point elsewhere.
bool is_subtree_name(std::string_view name);

} // namespace quell::worker
