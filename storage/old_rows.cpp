// Finds old rows by number instead of by time: numbers grow with time, so a binary search over the key finds the place,
// and no index on instants makes every insert slower.
#include "storage/old_rows.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/faults.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

class sqlite_old_rows final : public old_rows {
 public:
  sqlite_old_rows(std::string directory, std::unique_ptr<SQLite::Database> database)
      : directory_(std::move(directory)), database_(std::move(database)),
        operation_from_(*database_, "SELECT seq, created_at FROM operation WHERE seq >= ? ORDER BY seq LIMIT 1"),
        event_from_(*database_, "SELECT id, at FROM event WHERE id >= ? ORDER BY id LIMIT 1"),
        operations_(*database_, "SELECT seq, id, kind, parent, ended_at,"
                                " CASE WHEN root IS NULL THEN ended_at"
                                " ELSE (SELECT r.ended_at FROM operation r WHERE r.id = operation.root) END,"
                                " stop_cancel, (SELECT count(*) FROM operation c INDEXED BY operation_parent"
                                " WHERE c.parent = operation.id)"
                                " FROM operation WHERE seq < ? ORDER BY seq DESC LIMIT ?"),
        cancels_(*database_,
                 "SELECT " + cancel_columns + " FROM cancel WHERE status = 2 AND seq > ? ORDER BY seq LIMIT ?") {}

  result<std::uint64_t> first_made_at(wall_time before) override {
    return guarded<std::uint64_t>([&] { return first_at(operation_from_, "operation", "seq", before); });
  }

  result<std::vector<old_operation>> operations(std::uint64_t below_seq, std::uint32_t limit) override {
    return guarded<std::vector<old_operation>>([&] {
      const rewind always{operations_};
      binder(operations_).count(below_seq).count(limit);
      std::vector<old_operation> found;
      while (operations_.executeStep()) {
        columns from(operations_);
        old_operation o;
        o.seq = from.count();
        o.id = from.id<operation_id>();
        o.kind = from.code<quell::kind>();
        o.parent = from.maybe_id<operation_id>();
        o.ended_at = from.maybe_time();
        o.root_ended_at = from.maybe_time();
        o.stopped_by = from.maybe_id<cancel_id>();
        o.children = from.count();
        found.push_back(o);
      }
      return found;
    });
  }

  result<std::vector<cancel_record>> settled_cancels(std::uint64_t above_seq, std::uint32_t limit) override {
    return guarded<std::vector<cancel_record>>([&] {
      const rewind always{cancels_};
      binder(cancels_).count(above_seq).count(limit);
      std::vector<cancel_record> found;
      while (cancels_.executeStep()) found.push_back(read_cancel(cancels_));
      return found;
    });
  }

  result<std::vector<cancel_id>> named_cancels() override {
    return guarded<std::vector<cancel_id>>([&] {
      SQLite::Statement rows(*database_, "SELECT cancel FROM cutoff UNION SELECT cancel FROM tombstone");
      std::vector<cancel_id> found;
      while (rows.executeStep()) found.push_back(columns(rows).id<cancel_id>());
      return found;
    });
  }

  result<event_range> events_before(wall_time before) override {
    return guarded<event_range>([&] {
      event_range range;
      SQLite::Statement row(*database_, "SELECT min(id) FROM event");
      row.executeStep();
      range.oldest = columns(row).count();
      if (range.oldest == 0) return range;
      const auto first = first_at(event_from_, "event", "id", before);
      if (first > range.oldest) range.last_older = first - 1;
      return range;
    });
  }

 private:
  struct rewind {
    SQLite::Statement& statement;
    ~rewind() { statement.tryReset(); }
  };

  template <class T, class Body>
  result<T> guarded(Body body) try {
    return body();
  } catch (const std::exception& e) {
    return tl::unexpected(to_fault(e, directory_, "read"));
  }

  /// The smallest key whose row, like all later ones, is not from before `before`; the largest key plus one if all rows
  /// are older.
  std::uint64_t first_at(SQLite::Statement& from, const char* table, const char* key, wall_time before) {
    SQLite::Statement range(*database_, std::string("SELECT min(") + key + "), max(" + key + ") FROM " + table);
    range.executeStep();
    columns ends(range);
    std::uint64_t low = ends.count(), high = ends.count() + 1; // the key lies in [low, high]
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      const rewind always{from};
      binder(from).count(middle);
      if (!from.executeStep()) { // deleted in the meantime
        high = middle;
        continue;
      }
      columns row(from);
      const auto at = row.count();
      if (row.time() < before)
        low = at + 1;
      else
        high = middle;
    }
    return low;
  }

  std::string directory_;
  std::unique_ptr<SQLite::Database> database_;
  SQLite::Statement operation_from_, event_from_, operations_, cancels_;
};

} // namespace

result<std::unique_ptr<old_rows>> old_rows::open(const std::string& directory) {
  try {
    constexpr int busy_timeout_ms = 5'000;
    auto database = std::make_unique<SQLite::Database>(directory + "/" + database_file,
                                                       SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX, busy_timeout_ms);
    set_up_reader(*database);
    return std::make_unique<sqlite_old_rows>(directory, std::move(database));
  } catch (const std::exception& e) {
    return tl::unexpected(to_fault(e, directory, "open the database for reading"));
  }
}

} // namespace quell::storage
