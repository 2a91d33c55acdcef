// Where a store's file comes from, which its first reader cannot see in it.
#pragma once

#include <cstdint>

namespace quell::storage {

enum class store_origin : std::uint8_t {
  own_past, ///< this controller's earlier life
  backup,   ///< restored: every number jumps far ahead of those that can have been handed out since (DESIGN 5)
};

} // namespace quell::storage
