// Reads the live operations of a start, in parts that follow each other.
#pragma once

#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "controller/records/recovered_state.hpp"
#include "storage/record_names.hpp"

struct sqlite3_context;
struct sqlite3_value;

namespace quell::storage {

/// Live operations with seqs from `first` to `last`, which one has; others are perhaps between them.
struct live_part {
  std::uint64_t first = 0, last = 0, rows = 0;
};

/// Reads on one connection, which outlives it. Used by one thread. All throw SQLite::Exception and `corrupt_row`, which
/// names the row.
class live_reader {
 public:
  static constexpr std::uint64_t most_in_part = 1024;

  explicit live_reader(SQLite::Database& database);
  ~live_reader();
  live_reader(const live_reader&) = delete;

  /// The next live operations behind this seq, at most `most_in_part`; none: there are no more.
  std::optional<live_part> part_behind(std::uint64_t seq);
  /// Appends them, by seq.
  void read(const live_part& part, std::vector<operation_record>& into);

 private:
  static void take_row(sqlite3_context* context, int count, sqlite3_value** row);

  SQLite::Database& database_;
  std::vector<operation_record>* into_ = nullptr;
  std::exception_ptr failure_;
  std::optional<SQLite::Statement> full_, next_, dense_, sparse_; ///< gone before the function that they call
};

} // namespace quell::storage
