// What a task is kept from: capabilities, gaining privileges, system calls that no task needs, and the parts of the
// file system that hold the machine or quell itself (README.md, "The sandbox").
//
// The guardian prepares once: a mount namespace of its own, in which /sys is read-only, /dev opens only what every user
// may open, and directories with secrets are empty. Keepers and leaders are born into it, so that a start pays for a
// new /proc and for a few system calls only. The guardian itself keeps descriptors of the cgroups from before.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

/// The bit of a capability by its name without "cap_" ("chown"), or nothing.
std::optional<std::uint64_t> capability_bit(std::string_view name);

/// One per guardian.
class sandbox {
 public:
  explicit sandbox(sandbox_options options) : options_(std::move(options)) {}
  /// Makes the mount namespace. Appends a sentence to `limits` for each thing that does not work here.
  void prepare(std::vector<std::string>& limits);
  /// A directory with secrets, covered with the next `cover` unless it is.
  void hide_also(std::string directory);
  /// Covers what has come to be since; before each start.
  void cover();

  bool on() const { return options_.on; }

  // In a keeper's process or a leader's. On failure errno says why.
  /// The namespace's own /proc, the old one detached; `for_root`: what its root could change of the machine is
  /// read-only.
  bool mount_proc(bool for_root) const;
  /// Before the user is changed: the capabilities that must never come back.
  bool drop_bounding() const;
  /// After it: the rest, for good.
  bool confine() const;

 private:
  struct pending {
    std::string directory;
    bool exact; ///< never what somebody else has put in its place
  };
  static bool cover_one(const pending& one);

  sandbox_options options_;
  std::vector<pending> pending_; ///< not there yet
  bool own_mounts_ = false;
};

/// The program that `confine` loads: refuses with EPERM what no task needs.
const sock_fprog& refused_calls();

} // namespace quell::worker
