// The bytes that the workspaces of each guild hold together, as measured last. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "worker/workspace_limits.hpp"

namespace quell::worker {

class guild_bytes {
 public:
  /// A workspace of this guild counted as `before` and counts as `after`; 0: not at all.
  void change(std::string_view guild, std::uint64_t before, std::uint64_t after) {
    if (before == after) return;
    const auto at = sums_.try_emplace(std::string(guild)).first;
    sum& of = at->second;
    (before >= endless ? of.endless_ones : of.bytes) -= before >= endless ? 1 : before;
    (after >= endless ? of.endless_ones : of.bytes) += after >= endless ? 1 : after;
    if (of.bytes == 0 && of.endless_ones == 0) sums_.erase(at);
  }
  /// At most `endless`.
  std::uint64_t of(std::string_view guild) const {
    const auto at = sums_.find(guild);
    if (at == sums_.end()) return 0;
    return at->second.endless_ones > 0 ? endless : std::min(endless, at->second.bytes);
  }

 private:
  struct sum {
    std::uint64_t bytes = 0;        ///< of those that can be measured
    std::uint64_t endless_ones = 0; ///< the others
  };
  std::map<std::string, sum, std::less<>> sums_;
};

} // namespace quell::worker
