// The guarantees that each level of containment cannot give (DESIGN 3.6), in sentences. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quell::cli {

/// For `cgroup+pidns`, `cgroup`, `pidns` or `group`; empty for another word.
std::vector<std::string> limits_of(std::string_view level);

} // namespace quell::cli
