// Settings of SQLite that hold for the whole process.
#pragma once

namespace quell::storage {

/// Switches off SQLite's counters of memory. They are behind one lock that every allocation of every thread takes: a
/// thread of low priority that loses the processor while it holds that lock stops all others that read or write.
/// Called before a database is opened; has an effect only before the process opens its first. Any thread.
void leave_memory_uncounted();

} // namespace quell::storage
