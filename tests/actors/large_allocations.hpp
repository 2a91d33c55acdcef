// A memory without room for large texts, so that a handler which copies one throws.
#pragma once

#include <cstddef>
#include <string>

namespace quell::testing {

constexpr std::size_t large_bytes = 1 << 20;
inline std::string large_text() { return std::string(large_bytes, 'x'); }

/// While it lives, each allocation of this thread of at least `large_bytes` throws std::bad_alloc.
class no_large_allocations {
 public:
  no_large_allocations();
  ~no_large_allocations();
  no_large_allocations(const no_large_allocations&) = delete;
  no_large_allocations& operator=(const no_large_allocations&) = delete;
};

} // namespace quell::testing
