// Walks over /proc/PID/task/*/children (or all of /proc if the kernel lacks that file) and reads /proc/PID/stat.
#include "worker/guardian/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unordered_map>

#include "worker/guardian/client.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

constexpr unsigned exiting = 0x4; // PF_EXITING in <linux/sched.h>, shown in field 9 of /proc/PID/stat

template <class Visit>
void each_number_in(const char* path, Visit visit) {
  const int fd = open_proc(path, O_RDONLY | O_DIRECTORY);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (!dir) {
    if (fd >= 0) ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(dir)) {
    const int number = std::atoi(entry->d_name);
    if (number > 0) visit(number);
  }
  ::closedir(dir);
}

void children_from_file(const std::string& text, std::vector<pid_t>& out) {
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    pid_t pid = 0;
    auto [next, error] = std::from_chars(at, end, pid);
    if (error == std::errc{} && pid > 0) out.push_back(pid);
    at = next + 1;
  }
}

std::vector<pid_t> descendants_by_scan(pid_t root, std::size_t limit, const std::vector<pid_t>& but_not) {
  std::unordered_multimap<pid_t, pid_t> children;
  each_number_in(".", [&](int pid) {
    const auto stat = stat_of(pid);
    if (stat.state != 0 && stat.state != 'Z' && stat.state != 'X') children.emplace(stat.parent, pid);
  });
  std::vector<pid_t> out;
  const auto add = [&](pid_t parent) {
    auto [from, to] = children.equal_range(parent);
    for (; from != to && out.size() < limit; ++from)
      if (!std::binary_search(but_not.begin(), but_not.end(), from->second)) out.push_back(from->second);
  };
  add(root);
  for (std::size_t i = 0; i < out.size(); ++i) add(out[i]);
  return out;
}

bool has_children_files() {
  static const bool exists = [] {
    const unique_fd file(open_proc("thread-self/children", O_RDONLY));
    return file.get() >= 0;
  }();
  return exists;
}

} // namespace

process_stat stat_of(pid_t pid) {
  // Neither the heap nor stdio: a keeper calls this at each start, and each page that it touches is one fault more.
  char path[32];
  std::memcpy(std::to_chars(path, path + 16, pid).ptr, "/stat", sizeof "/stat");
  const int fd = open_proc(path, O_RDONLY);
  if (fd < 0) return {};
  char line[2048];
  ssize_t size = 0;
  while ((size = ::read(fd, line, sizeof line)) < 0 && errno == EINTR) {
  }
  ::close(fd);
  return size > 0 ? parse_stat({line, static_cast<std::size_t>(size)}) : process_stat{};
}

process_stat parse_stat(std::string_view line) {
  // The command's name can itself contain spaces and parentheses: the other fields follow the last parenthesis.
  const auto name_end = line.rfind(')');
  if (name_end == std::string_view::npos) return {};
  line.remove_prefix(name_end + 1);
  process_stat out;
  constexpr int parent = 4, flags = 9, threads = 20;
  for (int field = 3; field <= threads; ++field) {
    if (!line.starts_with(' ')) return {};
    line.remove_prefix(1);
    const auto text = line.substr(0, line.find_first_of(" \n"));
    line.remove_prefix(text.size());
    const auto number = [&](auto& to) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
      return error == std::errc{} && end == text.data() + text.size();
    };
    if (field == 3 && text.size() != 1) return {};
    if (field == 3) out.state = text.front();
    if ((field == parent && !number(out.parent)) || (field == flags && !number(out.flags)) ||
        (field == threads && !number(out.threads)))
      return {};
  }
  return out;
}

unproven_why why_not_ended(const process_stat& s, bool may_be_signalled) {
  if (!may_be_signalled) return unproven_why::no_permission;
  return s.state == 'D' && (s.flags & exiting) == 0 ? unproven_why::stuck_in_kernel : unproven_why::kill_in_flight;
}

pid_t tracer_of(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "%d/status", pid);
  const auto text = read_proc(path, 8192);
  const auto at = text.find("\nTracerPid:");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 11);
}

void children_of(pid_t pid, int threads, std::vector<pid_t>& out) {
  if (!has_children_files()) return;
  char path[96];
  if (threads == 1) {
    std::snprintf(path, sizeof path, "%d/task/%d/children", pid, pid);
    return children_from_file(read_proc(path, 16 << 20), out);
  }
  std::snprintf(path, sizeof path, "%d/task", pid);
  each_number_in(path, [&](int thread) {
    char file[96];
    std::snprintf(file, sizeof file, "%d/task/%d/children", pid, thread);
    children_from_file(read_proc(file, 16 << 20), out);
  });
}

std::vector<pid_t> descendants(pid_t root, std::size_t limit, const std::vector<pid_t>& but_not) {
  if (!has_children_files()) return descendants_by_scan(root, limit, but_not);
  std::vector<pid_t> found, out;
  children_of(root, 1, found);
  for (std::size_t i = 0; i < found.size() && out.size() < limit; ++i) {
    const pid_t pid = found[i];
    if (std::binary_search(but_not.begin(), but_not.end(), pid)) continue;
    const auto stat = stat_of(pid);
    if (stat.state != 0 && stat.state != 'Z' && stat.state != 'X') out.push_back(pid);
    if (found.size() < limit * 4)
      children_of(pid, stat.threads, found); // for a zombie, too: its other threads can still be alive
  }
  return out;
}

std::vector<pid_t> direct_children(pid_t pid) {
  std::vector<pid_t> out;
  if (!has_children_files()) return descendants_by_scan(pid, 1'000'000, {});
  char file[96];
  std::snprintf(file, sizeof file, "%d/task/%d/children", pid, pid);
  children_from_file(read_proc(file, 16 << 20), out);
  return out;
}

process_view view_of(pid_t pid) {
  process_view view;
  const auto stat = stat_of(pid);
  if (stat.state == 0) return view;
  view.pid = pid;
  view.state = std::string(1, stat.state);
  char path[64];
  std::snprintf(path, sizeof path, "%d/cmdline", pid);
  view.command = read_proc(path, 200);
  if (view.command.empty()) {
    std::snprintf(path, sizeof path, "%d/comm", pid);
    view.command = read_proc(path, 64);
  }
  if (view.command.size() > 200) view.command.resize(200);
  for (auto& c : view.command)
    if (c == '\0' || c == '\n') c = ' ';
  while (view.command.ends_with(' ')) view.command.pop_back();
  return view;
}

int open_pidfd(pid_t pid) {
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

int signal_pidfd(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) < 0 ? errno : 0;
}

void close_fd(int fd) { ::close(fd); }

exec_progress exec_progress_of(const process_stat& s) {
  constexpr unsigned forked_without_exec = 0x40; // PF_FORKNOEXEC, in the same field
  if (s.state == 0 || (s.flags & forked_without_exec) == 0) return exec_progress::executed;
  return (s.flags & exiting) != 0 || s.state == 'Z' || s.state == 'X' ? exec_progress::never : exec_progress::under_way;
}

bool never_executed(pid_t pid, process_stat (*look)(pid_t)) {
  constexpr timespec pause{0, 20'000};
  for (;;) {
    const auto progress = exec_progress_of(look(pid));
    if (progress != exec_progress::under_way) return progress == exec_progress::never;
    ::nanosleep(&pause, nullptr); // a matter of microseconds, unless its processor has been given to others
  }
}

} // namespace quell::worker
