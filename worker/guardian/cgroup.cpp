// Operates cgroup v2 through its files: cgroup.kill, cgroup.events, cgroup.procs, mkdir and rmdir.
#include "worker/guardian/cgroup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "worker/guardian/client.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

/// Splits a space-separated line into words and decodes the octal escapes of mountinfo.
std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ')
      out.emplace_back();
    else if (line[i] == '\\' && i + 3 < line.size()) {
      out.back().push_back(static_cast<char>((line[i + 1] - '0') * 64 + (line[i + 2] - '0') * 8 + (line[i + 3] - '0')));
      i += 3;
    } else
      out.back().push_back(line[i]);
  }
  return out;
}

template <class Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Visits the names of the directories below `dir`.
template <class Visit>
void each_directory(int dir, Visit visit) {
  const int copy = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  DIR* stream = ::fdopendir(copy);
  if (!stream) {
    ::close(copy);
    return;
  }
  while (const dirent* entry = ::readdir(stream))
    if (entry->d_type == DT_DIR && std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      visit(entry->d_name);
  ::closedir(stream);
}

void collect(int dir, std::size_t limit, std::vector<pid_t>& out) {
  each_line(read_small_file(dir, "cgroup.procs", 16 << 20), [&](std::string_view line) {
    pid_t pid = 0;
    std::from_chars(line.data(), line.data() + line.size(), pid);
    if (pid > 0 && out.size() < limit) out.push_back(pid);
  });
  each_directory(dir, [&](const char* name) {
    if (out.size() >= limit) return;
    unique_fd below(::openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (below) collect(below.get(), limit, out);
  });
}

void remove_below(int dir) {
  each_directory(dir, [&](const char* name) { remove_cgroup(dir, name); });
}

} // namespace

result<std::string> own_cgroup() {
  std::string mounted, root;
  each_line(read_small_file(AT_FDCWD, "/proc/self/mountinfo", 16 << 20), [&](std::string_view line) {
    const auto dash = line.find(" - cgroup2 ");
    if (dash == std::string_view::npos || !mounted.empty()) return;
    auto fields = words(line.substr(0, dash));
    if (fields.size() < 5) return;
    root = fields[3];
    mounted = fields[4];
  });
  if (mounted.empty())
    return failure("no_cgroup", "cgroup v2 is not mounted here; mount it (mount -t cgroup2 none /sys/fs/cgroup) or "
                                "boot with systemd.unified_cgroup_hierarchy=1");
  std::string own;
  each_line(read_small_file(AT_FDCWD, "/proc/self/cgroup"), [&](std::string_view line) {
    if (line.starts_with("0::")) own = std::string(line.substr(3));
  });
  if (own.empty() || own.starts_with("/.."))
    return failure("no_cgroup", "this process's own cgroup lies outside of its view of " + mounted);
  if (root != "/") { // only part of the tree is mounted: the path is relative to that part
    if (!own.starts_with(root))
      return failure("no_cgroup", "this process's own cgroup " + own + " is not below the mounted part " + root);
    own.erase(0, root.size());
  }
  if (own.ends_with(own_suffix)) own.erase(own.rfind('/'));
  while (own.ends_with('/')) own.pop_back();
  return mounted + own;
}

result<std::string> own_cgroup_v1(std::string_view controller) {
  const auto named_in = [&](std::string_view list) {
    for (std::size_t from = 0; from <= list.size();) {
      const auto end = std::min(list.find(',', from), list.size());
      if (list.substr(from, end - from) == controller) return true;
      from = end + 1;
    }
    return false;
  };
  std::string mounted, root, own;
  each_line(read_small_file(AT_FDCWD, "/proc/self/mountinfo", 16 << 20), [&](std::string_view line) {
    const auto dash = line.find(" - cgroup ");
    if (dash == std::string_view::npos || !mounted.empty()) return;
    if (!named_in(line.substr(line.rfind(' ') + 1))) return;
    auto fields = words(line.substr(0, dash));
    if (fields.size() < 5) return;
    root = fields[3];
    mounted = fields[4];
  });
  each_line(read_small_file(AT_FDCWD, "/proc/self/cgroup"), [&](std::string_view line) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second != std::string_view::npos && named_in(line.substr(first + 1, second - first - 1)))
      own = std::string(line.substr(second + 1));
  });
  if (mounted.empty() || own.empty() || (root != "/" && !own.starts_with(root)))
    return failure("no_cgroup", "no v1 hierarchy has the controller " + std::string(controller));
  if (root != "/") own.erase(0, root.size());
  while (own.ends_with('/')) own.pop_back();
  return mounted + own;
}

std::vector<std::string> mounts_of_type(std::string_view type) {
  std::vector<std::string> out;
  each_line(read_small_file(AT_FDCWD, "/proc/self/mountinfo", 16 << 20), [&](std::string_view line) {
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos || !line.substr(dash + 3).starts_with(type)) return;
    auto fields = words(line.substr(0, dash));
    if (fields.size() >= 5) out.push_back(std::move(fields[4]));
  });
  return out;
}

int make_cgroup(int parent, const char* name) {
  if (::mkdirat(parent, name, 0755) < 0 && errno != EEXIST) return -errno;
  const int fd = ::openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int kill_cgroup(int dir) { return write_small_file(dir, "cgroup.kill", "1"); }

bool cgroup_populated(int dir) {
  return read_small_file(dir, "cgroup.events").find("populated 1") != std::string::npos;
}

int remove_cgroup(int parent, const char* name) {
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  if (errno != EBUSY) return errno;
  // A live process, or sub-cgroups that the task made: those must be removed first.
  unique_fd dir(::openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return errno == ENOENT ? 0 : errno;
  remove_below(dir.get());
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  return errno;
}

std::vector<pid_t> cgroup_processes(int dir, std::size_t limit) {
  std::vector<pid_t> out;
  collect(dir, limit, out);
  return out;
}

result<std::size_t> empty_subtree(const std::string& path, int limit_ms) {
  unique_fd dir(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir) {
    if (errno == ENOENT) return 0;
    return failure("cgroup_failed", "cannot open " + path + ": " + errno_text(errno));
  }
  const auto found = cgroup_processes(dir.get(), 1'000'000).size();
  unique_fd events(::openat(dir.get(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  const auto end = boot_now() + std::chrono::milliseconds{limit_ms};
  for (int pause_ms = 10; cgroup_populated(dir.get()); pause_ms = std::min(pause_ms * 2, 1000)) {
    if (const int error = kill_cgroup(dir.get()); error != 0 && error != ENOENT)
      return failure("cgroup_failed", "cannot kill what is in " + path + ": " + errno_text(error));
    char text[128]; // read through the polled descriptor: a change after this read wakes the poll
    const ssize_t size = ::pread(events.get(), text, sizeof text, 0);
    if (size <= 0 ||
        std::string_view(text, static_cast<std::size_t>(size)).find("populated 1") == std::string_view::npos)
      continue;
    if (boot_now() >= end) {
      const auto left = cgroup_processes(dir.get(), 1);
      return failure("still_there",
                     "a process of an earlier life does not die: pid " + std::to_string(left.empty() ? 0 : left[0]) +
                         " in " + path +
                         "; look at /proc/PID/stack, and restart the machine if it is stuck in the kernel");
    }
    pollfd changed{events.get(), POLLPRI, 0};
    ::poll(&changed, 1, pause_ms);
  }
  remove_below(dir.get());
  return found;
}

bool is_subtree_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos &&
         !name.starts_with("cgroup.");
}

} // namespace quell::worker
