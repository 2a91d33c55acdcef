// A disk that fails on demand: SQLite's own file layer with a counter in front of the calls that change a file.
#pragma once

#include <cstdint>

namespace quell::storage::test {

/// `full`: one call finds no space. `broken`: it fails, and every later one too. `once`: it alone fails.
enum class disk_trouble { none, full, broken, once };

/// The calls that are counted and can fail. `changes`: calls that change a file (write, sync, truncate).
enum class disk_calls { changes, opens, reads, truncates, shared_maps, all };

/// Is SQLite's default file layer during its lifetime. One at a time.
class faulty_disk {
 public:
  faulty_disk();
  ~faulty_disk();
  faulty_disk(const faulty_disk&) = delete;

  /// The `nth` (1 = the next) of `calls` will fail. Any thread.
  void fail(disk_trouble trouble, std::uint64_t nth, disk_calls calls = disk_calls::changes);
  void heal() { fail(disk_trouble::none, 0); }
  /// True if the armed failure has happened.
  bool has_failed() const;
};

} // namespace quell::storage::test
