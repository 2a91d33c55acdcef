// Reads the store within a budget, for lists whose cost a caller chooses.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/queries.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// The budget after which a read is given up.
struct read_budget {
  using clock = std::chrono::steady_clock;
  clock::time_point until = clock::time_point::max(); ///< an unfinished list then ends where it is
  clock::time_point end = clock::time_point::max();   ///< an unfinished read then fails with `too_slow`
  std::shared_ptr<const std::atomic<bool>> abandoned; ///< true: the result is no longer wanted, so the read fails
};

class limited_queries : public queries {
 public:
  static result<std::unique_ptr<limited_queries>> open(const std::string& directory);

  /// Applies to all reads until the next call. Faults of a read that exceeds it: `too_slow`, `abandoned`.
  virtual void limit(read_budget budget) = 0;
  /// Set if the last list ran out of time before it had all its rows: continue behind this seq (or event id); no row
  /// before it was missed.
  virtual std::optional<std::uint64_t> cut_at() const = 0;
};

/// Reads on a connection that the caller owns and that outlives the result: for a thread that reads between its own
/// commits.
std::unique_ptr<queries> queries_on(SQLite::Database& database, const std::string& directory);

} // namespace quell::storage
