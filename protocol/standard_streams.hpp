// The descriptors 0, 1 and 2, which a caller can have closed.
#pragma once

#include <fcntl.h>

namespace quell {

/// The first act of a program. A closed one of the three would become the first file or socket that the program opens:
/// its messages would be written into that, and its loops would wait for it. `/dev/null` takes the place, opened so
/// that reading from standard input and writing to the other two fail as on a closed descriptor.
inline void fill_standard_streams() {
  for (int i = 0; i < 3; ++i) {
    if (::fcntl(i, F_GETFD) >= 0) continue;
    if (::open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY) != i) return; // the lowest that is free, so it is this one
  }
}

} // namespace quell
