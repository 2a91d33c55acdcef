// Finds out whether this guardian can keep the workspaces of conversations apart, and by which means.
#include <fcntl.h>

#include <array>
#include <cerrno>

#include "worker/guardian/sandbox.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

/// With one of these a task of root can reach what its view does not show.
constexpr auto powers = std::to_array<std::string_view>(
    {"sys_admin", "sys_ptrace", "dac_read_search", "mknod", "sys_rawio", "sys_module", "sys_chroot", "bpf"});

bool has_pidns(containment level) { return level == containment::pidns || level == containment::cgroup_pidns; }

} // namespace

void sandbox::prepare_workspaces(containment_report& report) {
  if (options_.workspaces.empty()) return;
  const auto refuse = [&](std::string why) { report.no_workspaces = std::move(why); };
  if (!options_.on) return refuse("the sandbox is off; set worker.sandbox to \"on\"");
  auto means = view_means::user_namespace;
  if (own_mounts_) {
    for (const auto power : powers)
      if ((options_.capabilities & *capability_bit(power)) != 0)
        return refuse("tasks keep the capability " + std::string(power) + "; take it out of worker.capabilities");
    if (!has_pidns(report.level))
      return refuse("the containment is " + std::string(name_of(report.level)) +
                    ", in which a task can look into another by /proc; allow PID namespaces (worker.containment)");
    if (!workspaces_) return refuse("their directory " + options_.workspaces + " cannot be opened");
    means = view_means::mounts;
  }
  if (const int error = probe_workspace(means, options_.workspaces, workspaces_.get()); error != 0)
    return refuse("a view of the file system of its own cannot be made for a task: " + errno_text(error) +
                  (means == view_means::mounts
                       ? ""
                       : "; run the worker as root or with CAP_SYS_ADMIN, or allow user namespaces to all users"));
  means_ = means;
  report.no_workspaces.clear();
  report.workspaces_by_user_namespace = means == view_means::user_namespace;
}

workspace_orders sandbox::workspace(const std::string& name) const {
  workspace_orders orders;
  orders.wanted = true;
  orders.root = options_.workspaces.c_str();
  orders.hidden = &hidden_by_leaders_;
  errno = EPERM;
  if (means_ == view_means::mounts) {
    const auto own = detach_workspace(workspaces_.get(), name);
    if (own.files < 0) return orders;
    orders.files = own.files;
    orders.scratch = own.scratch;
  }
  orders.means = means_;
  return orders;
}

} // namespace quell::worker
