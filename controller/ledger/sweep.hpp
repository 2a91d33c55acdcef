// The unfinished part of rolling a stop out to its leaves, as a stack of what is still to be visited: children before
// parents.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/ledger/slab.hpp"

namespace quell::controller::heart {

struct sweep {
  enum class visit : std::uint8_t {
    scope,      ///< a scope node: its inner scopes, then its list
    scope_list, ///< the operations of exactly this scope, oldest first, up to `limit`
    above_leaf, ///< an operation: first what is below it
    operation   ///< the operation itself
  };
  struct item {
    visit what;
    index at;
    /// Guards against a slot used again: an operation's seq, a scope's generation.
    std::uint64_t guard;
    /// scope_list: seq of the operation visited last, so that a visit that changed nothing cannot go round for ever.
    std::uint64_t last = 0;
  };
  std::vector<item> stack;
  std::uint64_t limit = 0; ///< operations with a seq not below this came later and are not concerned
};

} // namespace quell::controller::heart
