// Reads the store: a list finds its keys first, then reads each row by its key, all in one read transaction.
#include "storage/queries.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include "controller/store_code.hpp"
#include "protocol/clock_now.hpp"
#include "protocol/urgency.hpp"
#include "storage/binding.hpp"
#include "storage/cost_reader.hpp"
#include "storage/faults.hpp"
#include "storage/filters.hpp"
#include "storage/history_reader.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

/// A read transaction: all reads of a list are from one instant.
class snapshot {
 public:
  /// The statements that begin and end one.
  struct frame {
    explicit frame(SQLite::Database& of) : database(of), begin(of, "BEGIN"), end(of, "ROLLBACK") {}
    SQLite::Database& database;
    SQLite::Statement begin, end;
  };

  explicit snapshot(frame& of) : frame_(of) {
    frame_.begin.tryReset();
    frame_.begin.exec();
  }
  snapshot(const snapshot&) = delete;
  /// A kept statement can meet the progress handler, and be given up: one that is prepared anew cannot.
  ~snapshot() {
    frame_.begin.tryReset();
    frame_.end.tryReset();
    if (frame_.end.tryExecuteStep() != SQLITE_DONE) frame_.database.tryExec("ROLLBACK");
    frame_.end.tryReset();
  }

 private:
  frame& frame_;
};

/// One of two functions of that name.
constexpr operation_record (*operation_of)(SQLite::Statement&) = &read_operation;

class sqlite_queries final : public controller::limited_store_reader {
 public:
  sqlite_queries(std::string directory, std::unique_ptr<SQLite::Database> database)
      : sqlite_queries(std::move(directory), database.get()) {
    owned_ = std::move(database);
  }
  /// Reads on a connection that the caller owns and that outlives this object.
  sqlite_queries(std::string directory, SQLite::Database* database)
      : directory_(std::move(directory)), database_(database), frame_(*database_), statements_(*database_),
        operation_by_id_(*database_, "SELECT " + operation_columns + " FROM operation WHERE id = ?"),
        operation_by_seq_(*database_, "SELECT " + operation_columns + " FROM operation WHERE seq = ?"),
        cancel_by_id_(*database_, "SELECT " + cancel_columns + " FROM cancel WHERE id = ?"),
        cancel_by_seq_(*database_, "SELECT " + cancel_columns + " FROM cancel WHERE seq = ?"),
        event_by_id_(*database_, "SELECT " + event_columns + " FROM event WHERE id = ?"),
        audit_behind_(*database_, "SELECT " + audit_columns + " FROM audit WHERE n > ? ORDER BY n LIMIT ?"),
        history_(*database_, statements_) {
    constexpr int steps_between_looks = 2'000; // of SQLite's virtual machine: about ten microseconds
    const auto look = [](void* self) {
      auto& here = *static_cast<sqlite_queries*>(self);
      if (here.budget_.rests) here.pace_.worked();
      return here.must_end() ? 1 : 0;
    };
    sqlite3_progress_handler(database_->getHandle(), steps_between_looks, look, this);
  }
  ~sqlite_queries() override { sqlite3_progress_handler(database_->getHandle(), 0, nullptr, nullptr); }

  void limit(controller::read_budget budget) override {
    budget_ = std::move(budget);
    pace_.begins();
  }
  std::optional<std::uint64_t> cut_at() const override { return cut_at_; }

  result<std::optional<operation_record>> operation(const operation_id& id) override {
    return guarded<std::optional<operation_record>>([&] { return one(operation_by_id_, id, operation_of); });
  }

  result<std::optional<cancel_record>> cancel(const cancel_id& id) override {
    return guarded<std::optional<cancel_record>>([&] { return one(cancel_by_id_, id, read_cancel); });
  }

  result<std::vector<operation_record>> operations(const operation_filter& f) override {
    return guarded<std::vector<operation_record>>([&]() -> result<std::vector<operation_record>> {
      const snapshot now(frame_);
      std::optional<cancel_record> covering;
      if (f.covered_by) {
        covering = one(cancel_by_id_, *f.covered_by, read_cancel);
        if (!covering) return std::vector<operation_record>{};
      }
      return page<operation_record>(search_for(f, covering), operation_by_seq_, operation_of);
    });
  }

  result<std::vector<cancel_record>> cancels(const cancel_filter& f) override {
    return guarded<std::vector<cancel_record>>([&] {
      const snapshot now(frame_);
      return page<cancel_record>(search_for(f), cancel_by_seq_, read_cancel);
    });
  }

  result<std::vector<event_record>> events(const event_filter& f) override {
    return guarded<std::vector<event_record>>([&] {
      const snapshot now(frame_);
      return page<event_record>(search_for(f), event_by_id_, read_event);
    });
  }

  result<std::vector<kept_message>> messages(const message_filter& f) override {
    return guarded<std::vector<kept_message>>([&] {
      const snapshot now(frame_);
      return history_.messages(f);
    });
  }

  result<std::optional<message_record>> message_of_client(const scope_path& scope,
                                                          const std::string& client_id) override {
    return guarded<std::optional<message_record>>([&] { return history_.message_of_client(scope, client_id); });
  }
  result<std::optional<message_record>> newest_edit_of_client(const scope_path& scope,
                                                              const std::string& client_id) override {
    return guarded<std::optional<message_record>>([&] { return history_.newest_edit_of_client(scope, client_id); });
  }
  result<std::vector<message_record>> unacknowledged() override {
    return guarded<std::vector<message_record>>([&] { return history_.unacknowledged(); });
  }

  result<bool> is_below(const operation_id& id, const operation_id& ancestor) override {
    return guarded<bool>([&] {
      fragment f;
      f.add("SELECT 1 WHERE ");
      const auto test = is_under("?", ancestor);
      f.sql += test.sql;
      f.parameters.push_back(parameter::of(id));
      f.parameters.insert(f.parameters.end(), test.parameters.begin(), test.parameters.end());
      const auto row = statements_.take(f.sql);
      bind_all(*row, f.parameters);
      return row->executeStep();
    });
  }

  result<std::optional<std::uint64_t>> oldest_event() override {
    return guarded<std::optional<std::uint64_t>>([&]() -> std::optional<std::uint64_t> {
      const auto row = statements_.take("SELECT min(id) FROM event");
      row->executeStep();
      const auto id = columns(*row).maybe_integer();
      if (!id) return std::nullopt;
      return static_cast<std::uint64_t>(*id);
    });
  }

  result<std::vector<audit_record>> audit(std::uint64_t after, std::uint32_t limit) override {
    return guarded<std::vector<audit_record>>([&] {
      const rewind always{audit_behind_};
      binder(audit_behind_).count(after).count(limit);
      std::vector<audit_record> found;
      while (audit_behind_.executeStep()) found.push_back(read_audit(audit_behind_));
      return found;
    });
  }

  result<cost_page> costs(const cost_filter& f) override {
    return guarded<cost_page>([&] {
      const snapshot now(frame_);
      return read_costs(*database_, f);
    });
  }

  result<std::uint64_t> newest_event() override {
    return guarded<std::uint64_t>([&] {
      const auto row = statements_.take("SELECT max(id) FROM event");
      row->executeStep();
      return columns(*row).count();
    });
  }

 private:
  template <class T, class Body>
  result<T> guarded(Body body) try {
    cut_at_.reset();
    if (is_abandoned()) return failure(store_code::abandoned, "nobody waits for this any more");
    return body();
  } catch (const std::exception& e) {
    if (is_abandoned()) return failure(store_code::abandoned, "nobody waits for this any more");
    if (must_end()) return failure(store_code::too_slow, "reading took too long and was given up");
    return tl::unexpected(to_fault(e, directory_, "read"));
  }

  bool is_abandoned() const { return budget_.abandoned && budget_.abandoned->load(std::memory_order_relaxed); }
  bool must_end() const { return is_abandoned() || budget_now() >= budget_.end; }
  controller::read_budget::clock::time_point budget_now() const {
    using budget = controller::read_budget;
    if (budget_.of == budget::measure::wall) return budget::clock::now();
    return budget::clock::time_point(processor_time());
  }

  template <class Id, class Read>
  auto one(SQLite::Statement& statement, const Id& id, Read read) -> std::optional<decltype(read(statement))> {
    const rewind always{statement};
    binder(statement).id(id);
    if (!statement.executeStep()) return std::nullopt;
    return read(statement);
  }

  template <class Record, class Read>
  result<std::vector<Record>> page(const result<search>& what, SQLite::Statement& by_key, Read read) {
    if (!what) return tl::unexpected(what.error());
    const auto found = find(statements_, *what, [this] { return budget_now() >= budget_.until; });
    if (found.cut_at) cut_at_ = static_cast<std::uint64_t>(*found.cut_at);
    std::vector<Record> records;
    for (const auto key : found.keys) {
      const rewind always{by_key};
      binder(by_key).integer(key);
      if (by_key.executeStep()) records.push_back(read(by_key));
    }
    return records;
  }

  struct rewind {
    SQLite::Statement& statement;
    ~rewind() { statement.tryReset(); }
  };

  std::string directory_;
  controller::read_budget budget_;
  turn_keeper pace_{turns_of::listing, 2 * turns_of::listing};
  std::optional<std::uint64_t> cut_at_;
  std::unique_ptr<SQLite::Database> owned_; ///< before the statements, which it must outlive
  SQLite::Database* database_;
  snapshot::frame frame_;
  statement_cache statements_;
  SQLite::Statement operation_by_id_, operation_by_seq_, cancel_by_id_, cancel_by_seq_, event_by_id_, audit_behind_;
  history_reader history_;
};

} // namespace

std::unique_ptr<controller::store_reader> queries_on(SQLite::Database& database, const std::string& directory) {
  return std::make_unique<sqlite_queries>(directory, &database);
}

result<std::unique_ptr<controller::store_reader>> open_reader(const std::string& directory) {
  auto opened = open_limited_reader(directory);
  if (!opened) return tl::unexpected(opened.error());
  return std::unique_ptr<controller::store_reader>(std::move(*opened));
}

result<std::unique_ptr<controller::limited_store_reader>> open_limited_reader(const std::string& directory) {
  try {
    constexpr int busy_timeout_ms = 5'000;
    auto database = std::make_unique<SQLite::Database>(directory + "/" + database_file,
                                                       SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX, busy_timeout_ms);
    set_up_reader(*database);
    return std::make_unique<sqlite_queries>(directory, std::move(database));
  } catch (const std::exception& e) {
    return tl::unexpected(to_fault(e, directory, "open the database for reading"));
  }
}

} // namespace quell::storage
