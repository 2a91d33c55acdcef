// Finds out, by trying, which containment this process can use.
#pragma once

#include <optional>
#include <string>

#include "worker/guardian/client.hpp"

namespace quell::worker {

/// The strongest level that works here, or the forced one (fault `no_containment` says why it does not work).
/// `cgroup_parent`: a directory of the cgroup tree in which test cgroups can be made, -1 = none; then `no_cgroup` says
/// why.
result<containment_report> find_containment(int cgroup_parent, const std::string& no_cgroup,
                                            std::optional<containment> forced);

} // namespace quell::worker
