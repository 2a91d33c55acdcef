// Reads and writes the files of the cgroup controllers.
#include "worker/guardian/limiter.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sstream>

#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

constexpr std::uint64_t period_us = 100'000;

bool has_word(const std::string& text, std::string_view word) {
  std::istringstream words(text);
  for (std::string next; words >> next;)
    if (next == word) return true;
  return false;
}

std::string value_of(std::string_view controller, const task_limits& wanted, bool v2) {
  if (controller == "memory") return std::to_string(wanted.memory_bytes);
  if (controller == "pids") return std::to_string(wanted.pids);
  const auto quota = std::to_string(std::max<std::uint64_t>(wanted.cpu_millis * period_us / 1000, 1000));
  return v2 ? quota + " " + std::to_string(period_us) : quota;
}

bool is_required(std::string_view controller, const task_limits& wanted) {
  if (controller == "memory") return wanted.memory_required;
  if (controller == "pids") return wanted.pids_required;
  return wanted.cpu_required;
}

/// The number behind `key` in lines of keys and numbers; 0 if the key is absent.
std::uint64_t count_in(const std::string& lines, std::string_view key) {
  std::istringstream in(lines);
  std::string name;
  for (std::uint64_t count = 0; in >> name >> count;)
    if (name == key) return count;
  return 0;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1024 * 1024;
  return bytes % mib == 0 ? std::to_string(bytes / mib) + " MiB" : std::to_string(bytes) + " bytes";
}

bool is_limited(std::string_view controller, const task_limits& wanted) {
  if (controller == "memory") return wanted.memory_bytes != 0;
  if (controller == "pids") return wanted.pids != 0;
  return wanted.cpu_millis != 0;
}

} // namespace

void limiter::prepare(cgroup_subtree* subtree, const std::string& name, bool uses_cgroup,
                      std::vector<std::string>& limits) {
  for (auto& c : controllers_) {
    if (subtree && uses_cgroup && enable_v2(*subtree, name, c)) continue;
    open_v1(name, c);
    if (!c.v1)
      limits.emplace_back("The " + std::string(c.name) + " of a task cannot be limited here: " + c.why_not +
                          "; run the worker as a service of its own with Delegate=yes (systemd), or as root.");
  }
}

bool limiter::enable_v2(cgroup_subtree& subtree, const std::string& name, controller& c) {
  const int own = subtree.parent();
  if (!has_word(read_small_file(own, "cgroup.controllers"), c.name)) {
    c.why_not = "its controller is not delegated to the worker";
    return false;
  }
  const auto order = "+" + std::string(c.name);
  int error = write_small_file(own, "cgroup.subtree_control", order);
  if (error == EBUSY) {
    // Controllers work only below a cgroup without processes: worker and guardian move one level down if they are
    // alone.
    const auto alone = [](pid_t pid) { return pid == ::getpid() || pid == ::getppid(); };
    std::vector<pid_t> here;
    std::istringstream list(read_small_file(own, "cgroup.procs"));
    for (pid_t pid = 0; list >> pid;) here.push_back(pid);
    if (std::all_of(here.begin(), here.end(), alone)) {
      const unique_fd aside(make_cgroup(own, (name + own_suffix).c_str()));
      for (const pid_t pid : here) write_small_file(aside.get(), "cgroup.procs", std::to_string(pid));
      error = write_small_file(own, "cgroup.subtree_control", order);
    } else {
      c.why_not = "other processes share the worker's cgroup";
      return false;
    }
  }
  if (error == 0) error = write_small_file(subtree.descriptor(), "cgroup.subtree_control", order);
  if (error != 0) c.why_not = "its controller cannot be enabled: " + errno_text(error);
  c.in_v2 = error == 0;
  return c.in_v2;
}

void limiter::open_v1(const std::string& name, controller& c) {
  auto own = own_cgroup_v1(c.name);
  if (!own) {
    if (c.why_not.empty()) c.why_not = "this machine has no such controller";
    return;
  }
  c.v1_parent.reset(::open(own->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  c.v1.reset(c.v1_parent ? make_cgroup(c.v1_parent.get(), name.c_str()) : -errno);
  if (c.v1.get() < 0) {
    c.why_not = *own + " cannot be written: " + errno_text(-c.v1.release());
    return;
  }
  remove_cgroup(c.v1_parent.get(), name.c_str()); // left by an earlier guardian
  c.v1.reset(make_cgroup(c.v1_parent.get(), name.c_str()));
}

std::string limiter::begin(const std::string& task, const task_limits& wanted, int cgroup) {
  std::erase_if(leftovers_, [&](const std::string& old) {
    return std::all_of(controllers_.begin(), controllers_.end(), [&](const controller& c) {
      return c.v1.get() < 0 || ::unlinkat(c.v1.get(), old.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
    });
  });
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    auto& c = controllers_[i];
    if (!is_limited(c.name, wanted)) continue;
    const auto value = value_of(c.name, wanted, c.in_v2);
    int error = 0;
    if (c.in_v2 && cgroup >= 0) {
      error = write_small_file(cgroup, std::string(c.v2_file).c_str(), value);
    } else if (c.v1.get() >= 0 && !is_required(c.name, wanted)) {
      if (auto spare = c.spare.take(c.v1.get(), value, error); !spare.empty()) {
        auto& own = tasks_[task];
        own.directory[i] = std::move(spare);
        own.lent[i] = true;
      }
    } else if (c.v1.get() >= 0) {
      const unique_fd made(make_cgroup(c.v1.get(), task.c_str()));
      if (made.get() >= 0) tasks_[task].directory[i] = task;
      error = made.get() < 0 ? -made.get() : write_small_file(made.get(), std::string(c.v1_file).c_str(), value);
    } else {
      if (!is_required(c.name, wanted))
        continue; // a default of the worker: its report says that it is not enforced
                  // here
      return "its " + std::string(c.name) + " cannot be limited by this worker: " + c.why_not;
    }
    if (error != 0 && is_required(c.name, wanted))
      return "its " + std::string(c.name) + " cannot be limited to " + value + ": " + errno_text(error);
  }
  return {};
}

std::string limiter::enter(const std::string& task, pid_t leader) {
  const auto own = tasks_.find(task);
  if (own == tasks_.end()) return {};
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    const auto& directory = own->second.directory[i];
    if (directory.empty()) continue;
    const auto& c = controllers_[i];
    const int error = write_small_file(c.v1.get(), (directory + "/cgroup.procs").c_str(), std::to_string(leader));
    if (error != 0) return "its " + std::string(c.name) + " cannot be limited: " + errno_text(error);
  }
  return {};
}

std::string limiter::exceeded(const std::string& task, const task_limits& wanted, int cgroup) {
  const auto own = tasks_.find(task);
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    const auto& c = controllers_[i];
    if (c.name == "cpu" || !is_limited(c.name, wanted)) continue;
    const bool in_own = c.in_v2 && cgroup >= 0;
    const std::string directory = own == tasks_.end() ? "" : own->second.directory[i];
    const auto read = [&](const char* v2, const char* v1) {
      if (in_own) return read_small_file(cgroup, v2);
      return directory.empty() ? std::string() : read_small_file(c.v1.get(), (directory + "/" + v1).c_str());
    };
    std::string what;
    if (c.name == "memory" && count_in(read("memory.events", "memory.oom_control"), "oom_kill") > 0)
      what = "it needed more memory than its limit of " + size_text(wanted.memory_bytes) +
             ", and the kernel killed a process of it";
    if (c.name == "pids" && count_in(read("pids.events", "pids.events"), "max") > 0)
      what = "it wanted more processes and threads than its limit of " + std::to_string(wanted.pids);
    if (what.empty()) continue;
    if (own != tasks_.end()) own->second.spoilt = true;
    return what;
  }
  return {};
}

void limiter::end(const std::string& task) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return;
  const auto own = std::move(at->second);
  tasks_.erase(at);
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    auto& c = controllers_[i];
    const auto& directory = own.directory[i];
    if (directory.empty() || (own.lent[i] && !own.spoilt && c.spare.give_back(c.v1.get(), directory))) continue;
    if (::unlinkat(c.v1.get(), directory.c_str(), AT_REMOVEDIR) < 0 && errno == EBUSY && leftovers_.size() < 10'000)
      leftovers_.push_back(directory);
  }
}

void limiter::remove(const std::string& name) {
  for (auto& c : controllers_)
    if (c.v1.get() >= 0) remove_cgroup(c.v1_parent.get(), name.c_str());
}

} // namespace quell::worker
