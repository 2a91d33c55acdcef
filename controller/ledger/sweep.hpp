// The rest of an unfinished sweep, which stops the leaves of a target one by one: a stack of nodes to visit, children
// before parents.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/ledger/slab.hpp"

namespace quell::controller::live {

struct sweep {
  enum class visit : std::uint8_t {
    scope,      ///< a scope node: its inner scopes, then its own operations
    scope_list, ///< the operations of exactly this scope, oldest first, up to `limit`
    above_leaf, ///< an operation: everything below it first
    operation   ///< the operation itself
  };
  struct item {
    visit what;
    index at;
    /// Detects a reused slot: an operation's seq, a scope's generation.
    std::uint64_t guard;
    /// scope_list: seq of the operation visited last, so that a visit that changed nothing cannot loop for ever.
    std::uint64_t last = 0;
  };
  std::vector<item> stack;
  std::uint64_t limit = 0; ///< operations with this seq or a higher one came later and are not concerned
};

} // namespace quell::controller::live
