// How much freed memory a program keeps for itself.
#pragma once

namespace quell::host {

/// Keeps some MiB of freed memory for what comes next, instead of giving it back at once: frames and pieces of output
/// of some 100 KB came and went otherwise as fresh pages, each of which the kernel has to clear (a tenth of a stream's
/// cost). Call once, before threads start.
void keep_freed_memory();

} // namespace quell::host
