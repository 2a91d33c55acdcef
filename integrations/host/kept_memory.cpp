// The thresholds of glibc, and of tcmalloc where a program is linked with it.
#include "integrations/host/kept_memory.hpp"

#include <cstddef>
#include <limits>

#include <malloc.h>

// Null in a program that is not linked with tcmalloc.
extern "C" {
int MallocExtension_GetNumericProperty(const char* property, std::size_t* value) __attribute__((weak));
void MallocExtension_ReleaseToSystem(std::size_t bytes) __attribute__((weak));
}

namespace quell::host {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kept_bytes = 8 << 20, mapped_from_bytes = 4 << 20, grown_by_bytes = 512 << 10;
  ::mallopt(M_TRIM_THRESHOLD, kept_bytes); // of each arena
  ::mallopt(M_MMAP_THRESHOLD, mapped_from_bytes);
  ::mallopt(M_TOP_PAD, grown_by_bytes);
#endif
}

bool return_freed_memory() {
  if (MallocExtension_GetNumericProperty == nullptr || MallocExtension_ReleaseToSystem == nullptr) return false;
  constexpr std::size_t kept_bytes = 16 << 20, at_once = 1 << 20; // its lock is held for each step
  std::size_t before = std::numeric_limits<std::size_t>::max();
  for (std::size_t free_bytes = 0;; before = free_bytes) {
    if (MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &free_bytes) == 0) return false;
    if (free_bytes <= kept_bytes || free_bytes >= before) return true; // others may free as fast as this returns
    MallocExtension_ReleaseToSystem(at_once);
  }
}

} // namespace quell::host
