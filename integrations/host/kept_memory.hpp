// How much freed memory a program keeps for itself.
#pragma once

namespace quell::host {

/// Keeps some MiB of freed memory for what comes next, instead of giving it back at once: frames and pieces of output
/// of some 100 KB came and went otherwise as fresh pages, each of which the kernel has to clear (a tenth of a stream's
/// cost). Call once, before threads start.
void keep_freed_memory();

/// Gives the kernel what the program has freed and is beyond what it keeps, for an allocator that does not do that by
/// itself (tcmalloc). Call it every now and then, from a thread that nobody waits for: it takes about 0.1 ms for each
/// MiB. Any thread. False if the program's allocator does it by itself (glibc): then it need not be called again.
bool return_freed_memory();

} // namespace quell::host
