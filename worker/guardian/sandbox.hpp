// Restrictions on a task: capabilities, gaining privileges, system calls that no task needs, and the parts of the file
// system that belong to the machine or to quell itself (README.md, "The sandbox").
//
// The guardian prepares once: its own mount namespace, in which /sys is read-only, /dev has only devices that every
// user can open, and directories with secrets are empty. Keepers and leaders are born into it, so a start costs only a
// new /proc and a few system calls. The guardian itself keeps descriptors of the cgroups from before.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"
#include "worker/guardian/workspace_view.hpp"

namespace quell::worker {

/// The bit of a capability by its name without "cap_" ("chown"), or nothing.
std::optional<std::uint64_t> capability_bit(std::string_view name);

/// One per guardian.
class sandbox {
 public:
  explicit sandbox(sandbox_options options) : options_(std::move(options)) {}
  /// Makes the mount namespace, and drops capabilities that no task may gain. Appends a sentence to `limits` for each
  /// measure that does not work here. `tasks_mount_proc`: each keeper mounts a /proc of its own.
  void prepare(bool tasks_mount_proc, std::vector<std::string>& limits);
  /// After all preparation, if each keeper mounts a /proc of its own: detaches the one of this namespace, so that no
  /// start has to copy and detach it (a detachment waits for every processor). This process reads it through a
  /// descriptor.
  void leave_proc();
  /// Registers a directory with secrets; the next `cover` covers it unless it already is.
  void hide_also(std::string directory);
  /// Covers the directories that have appeared since the last call; call before each start.
  void cover();

  /// After `prepare`: finds out how tasks get workspaces of conversations here, and reports it.
  void prepare_workspaces(containment_report& report);
  /// The orders for a task in this workspace; the descriptors are the caller's. `means` is none with errno on failure.
  workspace_orders workspace(const std::string& name) const;

  bool on() const { return options_.on; }

  // For a keeper's or a leader's process. On failure errno says why.
  /// Mounts the namespace's own /proc and detaches the old one; `is_root`: it is for a task of root,
  /// so files by which root could change the machine are read-only.
  bool mount_proc(bool is_root) const;
  /// Before the change of user: drops the capabilities that must never come back. The guardian has dropped them for
  /// every task, but a user namespace made since (`own_namespace`) has brought them back.
  bool drop_bounding(bool own_namespace) const;
  /// After the change of user: drops the rest permanently.
  bool confine() const;

 private:
  struct pending {
    std::string directory;
    bool exact; ///< never cover a replacement that another user put there
  };
  bool cover_one(const pending& one) const;
  bool drop_each() const;

  sandbox_options options_;
  std::vector<pending> pending_;               ///< directories that do not exist yet
  std::vector<std::string> hidden_by_leaders_; ///< without own mounts: each task in a workspace covers them itself
  bool own_mounts_ = false;
  bool bounding_dropped_ = false;
  unique_fd workspaces_; ///< from before it was covered
  unique_fd proc_;       ///< of the host
  view_means means_ = view_means::none;
};

/// The program that `confine` loads: refuses, with EPERM, calls that no task needs.
const sock_fprog& refused_calls();

} // namespace quell::worker
