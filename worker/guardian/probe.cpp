// Tries a trivial process in each containment, and writes sentences about what each level does not promise.
#include "worker/guardian/probe.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/earlier_life.hpp"
#include "worker/guardian/life_lock.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

/// "" = it works; otherwise the reason.
struct findings {
  std::string cgroup, pidns, both;
};

constexpr int was_killed = -1;

/// Starts one child with these clone flags; in a mount namespace it mounts its own /proc. 0, the errno of the failure,
/// or `was_killed`.
int try_child(std::uint64_t flags, int cgroup) {
  const pid_t pid = clone_process(flags, cgroup);
  if (pid == 0) {
    if ((flags & CLONE_NEWNS) != 0) {
      if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0) ::_exit(errno & 0x7f);
      if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) < 0) ::_exit(errno & 0x7f);
    }
    ::_exit(0);
  }
  if (pid < 0) return -pid;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : was_killed;
}

/// The kernel kills a process born into a cgroup whose count of cgroup.kill differs from that of its parent's cgroup.
std::string birth_failure(int error) {
  if (error == was_killed)
    return "what is born in a new one is killed at once, because this process's own cgroup has seen a cgroup.kill; "
           "start the worker in a fresh cgroup";
  return errno_text(error) + "; delegate the worker's whole cgroup to its user (systemd: Delegate=yes)";
}

std::string pidns_advice(int error) {
  return "no PID namespace: " + errno_text(error) +
         (error == EPERM ? "; run the worker as root or with CAP_SYS_ADMIN" : "");
}

findings try_all(int parent, const std::string& no_cgroup) {
  findings found;
  constexpr std::uint64_t spaces = CLONE_NEWPID | CLONE_NEWNS;
  if (const int error = try_child(spaces, -1); error != 0) found.pidns = pidns_advice(error);
  found.both = found.pidns;
  if (parent < 0) {
    found.cgroup = "no cgroup: " + no_cgroup;
    found.both = found.cgroup;
    return found;
  }
  const std::string name = "probe-" + std::to_string(::getpid()) + "-" + std::to_string(boot_now().ns);
  unique_fd dir(make_cgroup(parent, name.c_str()));
  if (dir.get() < 0) {
    found.cgroup = "no cgroup: cannot make one: " + errno_text(-dir.release()) +
                   "; delegate a subtree to the worker (systemd: Delegate=yes)";
  } else {
    struct stat kill_file {};
    if (::fstatat(dir.get(), "cgroup.kill", &kill_file, 0) < 0)
      found.cgroup = "no cgroup: this kernel has no cgroup.kill; it came with Linux 5.14";
    else if (int error = try_child(0, dir.get()); error != 0)
      found.cgroup = "no cgroup: a process cannot be born in one: " + birth_failure(error);
    else if (found.pidns.empty() && (error = try_child(spaces, dir.get())) != 0)
      found.both = "no PID namespace in a cgroup: " + birth_failure(error);
    else if (error = kill_cgroup(dir.get()); error != 0)
      found.cgroup = "no cgroup: cgroup.kill cannot be written: " + errno_text(error);
  }
  remove_cgroup(parent, name.c_str());
  if (found.both.empty()) found.both = found.cgroup;
  return found;
}

const std::string& reason_against(const findings& found, containment level) {
  static const std::string none;
  switch (level) {
  case containment::cgroup_pidns:
    return found.both;
  case containment::cgroup:
    return found.cgroup;
  case containment::pidns:
    return found.pidns;
  case containment::group:
    return none;
  }
  return none;
}

std::vector<std::string> limits_of(containment level) {
  std::vector<std::string> out;
  switch (level) {
  case containment::cgroup_pidns:
    out.emplace_back(
        "A task that runs as root can move itself to another cgroup; its PID namespace holds it all the same.");
    break;
  case containment::cgroup:
    out.emplace_back("Any task of the worker's uid can move itself to another cgroup of that uid; it is then still "
                     "found as a descendant of its "
                     "keeper, unless it first kills that.");
    break;
  case containment::pidns:
    out.emplace_back("There is no cgroup: what enters a task's PID namespace from outside dies with it, but no second "
                     "layer confirms that it is empty.");
    break;
  case containment::group:
    out.emplace_back("Processes are found by walking their tree: one that forks faster than it is found may live on "
                     "for as long as it wins; it stays "
                     "unproven until it is gone.");
    out.emplace_back("A task of the worker's uid can kill its keeper: what it leaves then goes to the guardian and is "
                     "killed there; if it kills the "
                     "guardian as well, its orphans are free.");
    out.emplace_back(
        "A process of another uid (setuid) may not be killable by the worker; it is then reported as no_permission.");
    break;
  }
  out.emplace_back(
      "Work handed to another daemon (docker, systemd-run, at, cron, ssh) is outside of every containment.");
  return out;
}

} // namespace

result<containment_report> find_containment(int cgroup_parent, const std::string& no_cgroup,
                                            std::optional<containment> forced) {
  const auto found = try_all(cgroup_parent, no_cgroup);
  containment_report report;
  if (forced) {
    const auto& why = reason_against(found, *forced);
    if (!why.empty())
      return failure("no_containment", "containment " + std::string(name_of(*forced)) + " does not work here: " + why);
    report.level = *forced;
  } else {
    for (const auto level : {containment::cgroup_pidns, containment::cgroup, containment::pidns, containment::group}) {
      report.level = level;
      if (reason_against(found, level).empty()) break;
    }
  }
  report.limits = limits_of(report.level);
  if (report.level == containment::cgroup_pidns) return report;
  if (forced)
    report.limits.emplace_back("This level was chosen by option; a stronger one may work here.");
  else
    for (const auto* why : {&found.cgroup, &found.pidns, &found.both})
      if (!why->empty() && (why != &found.both || (found.cgroup.empty() && found.pidns.empty())))
        report.limits.emplace_back("A stronger level is not there: " + *why + ".");
  return report;
}

containment_report probe_containment() {
  auto own = own_cgroup();
  unique_fd parent;
  std::string why;
  if (own) {
    parent.reset(::open(own->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent) why = "cannot open " + *own + ": " + errno_text(errno);
  } else {
    why = own.error().detail;
  }
  auto found = find_containment(parent.get(), why, std::nullopt);
  return found ? std::move(*found) : containment_report{};
}

result<std::size_t> sweep_containment(const std::string& subtree, const std::string& lock) {
  if (!is_subtree_name(subtree))
    return failure("bad_subtree", "the subtree's name \"" + subtree + "\" is not one plain path segment");
  // First the cgroups, which need no waiting; then the keepers, each of which ends with its task.
  std::size_t killed = 0;
  if (auto own = own_cgroup()) {
    const auto path = *own + "/" + subtree;
    auto emptied = empty_subtree(path, 8000);
    if (!emptied) return emptied;
    killed = *emptied;
    ::rmdir(path.c_str());
  }
  // Keepers that lost their guardian become children of this process and end with their tasks; processes that also lost
  // their keeper are killed. A keeper that its task has stopped or traced never ends: after a moment everything below
  // is killed from here.
  (void)life_lock::await_free(lock, 2000);
  auto orphans = kill_own_children(6000);
  if (!orphans) return orphans;
  if (auto alone = life_lock::await_free(lock, 6000); !alone) return tl::unexpected(alone.error());
  if (auto alone = await_dying_inits(6000); !alone) return tl::unexpected(alone.error());
  return killed + *orphans;
}

} // namespace quell::worker
