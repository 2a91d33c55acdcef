// A disk that fails on demand: SQLite's own file layer with a counter in front of what changes a file.
#pragma once

#include <cstdint>

namespace quell::storage::test {

enum class disk_trouble { none, full, broken };

/// Becomes SQLite's default file layer for as long as it lives. One at a time.
class faulty_disk {
 public:
  faulty_disk();
  ~faulty_disk();
  faulty_disk(const faulty_disk&) = delete;

  /// The `nth` (1 = the next) write, sync or truncate fails, and with `broken` every later one too. Any thread.
  void fail(disk_trouble trouble, std::uint64_t nth);
  void heal() { fail(disk_trouble::none, 0); }
  /// True if the armed failure has happened.
  bool has_failed() const;
};

} // namespace quell::storage::test
