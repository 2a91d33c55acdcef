// Reading the store within a budget, for lists whose cost a caller chooses.
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

/// What reading may cost before it is given up.
struct read_budget {
  using clock = std::chrono::steady_clock;
  clock::time_point until = clock::time_point::max(); ///< a list that still looks for rows then ends where it is
  clock::time_point end = clock::time_point::max();   ///< whatever still runs then fails with `too_slow`
  std::shared_ptr<const std::atomic<bool>> abandoned; ///< true: nobody waits for this any more; it fails
};

class limited_queries : public queries {
 public:
  static result<std::unique_ptr<limited_queries>> open(const std::string& directory);

  /// Holds for all reads until the next call. Faults of what exceeds it: `too_slow`, `abandoned`.
  virtual void limit(read_budget budget) = 0;
  /// Set if the last list ended before it had its rows because its time was over: continue behind this seq (or event
  /// id); nothing before it was missed.
  virtual std::optional<std::uint64_t> cut_at() const = 0;
};

/// Reads on a connection that somebody else owns and that outlives this: for one who reads between its own commits, on
/// the same thread.
std::unique_ptr<queries> queries_on(SQLite::Database& database, const std::string& directory);

} // namespace quell::storage
