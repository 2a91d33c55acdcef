// glibc's thresholds. Other libraries keep their own.
#include "integrations/host/kept_memory.hpp"

#include <malloc.h>

namespace quell::host {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kept_bytes = 8 << 20, mapped_from_bytes = 4 << 20, grown_by_bytes = 512 << 10;
  ::mallopt(M_TRIM_THRESHOLD, kept_bytes); // of each arena
  ::mallopt(M_MMAP_THRESHOLD, mapped_from_bytes);
  ::mallopt(M_TOP_PAD, grown_by_bytes);
#endif
}

} // namespace quell::host
