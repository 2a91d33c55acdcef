// Lists of few rows from a large store use an index: the test reads SQLite's own plan.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include <catch2/catch.hpp>

#include "storage/filters.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;
using Catch::Matchers::Contains;

namespace {

/// A store with 6,000 other operations: too many for a full scan, so that the plan is that of a large table.
struct large_store {
  temp_directory directory;
  store s{directory.path()};
  operation_record top = operation(10'000, "team/a");
  std::unique_ptr<SQLite::Database> database;

  large_store() {
    std::vector<entry> batch;
    for (std::uint64_t seq = 1; seq <= 6'000; ++seq) {
      auto o = operation(seq, "other/" + std::to_string(seq % 7));
      o.owner.id = "bob";
      batch.push_back(put_operation{std::move(o)});
    }
    batch.push_back(put_operation{top});
    batch.push_back(put_operation{operation(10'001, "team/a/b", &top)});
    batch.push_back(put_operation{operation(10'002, "team/ab")});
    REQUIRE_FALSE(s.write(std::move(batch)));
    database = std::make_unique<SQLite::Database>(directory / "quell.db", SQLite::OPEN_READONLY);
    set_up_reader(*database);
  }

  std::string explained(const fragment& f) {
    SQLite::Statement rows(*database, "EXPLAIN QUERY PLAN " + f.sql);
    std::string plan;
    while (rows.executeStep()) plan += rows.getColumn(3).getString() + "\n";
    return plan;
  }

  search searched(const operation_filter& f, const std::optional<cancel_record>& covering = {}) {
    auto made = search_for(f, covering);
    REQUIRE(made);
    return *made;
  }

  /// The plan of the first query of a filter.
  std::string way_in(const operation_filter& f, const std::optional<cancel_record>& covering = {}) {
    for (const auto& c : searched(f, covering).conditions)
      if (!c.way_in.sql.empty()) return explained(c.way_in);
    return "none";
  }

  search_plan planned(const operation_filter& f, const std::optional<cancel_record>& covering = {}) {
    statement_cache statements(*database);
    return plan(statements, searched(f, covering));
  }
};

} // namespace

TEST_CASE("filters with an index behind them never scan the table") {
  large_store large;
  operation_filter f;
  SECTION("scope") {
    f.scopes = {scope("team/a"), scope("x")};
    CHECK_THAT(large.way_in(f),
               Contains("SEARCH operation USING COVERING INDEX operation_scope (scope>? AND scope<?)"));
    CHECK(large.planned(f).candidates == std::vector<std::int64_t>{10'001, 10'000});
  }
  SECTION("owner") {
    f.owners = {"alice", "carol"};
    CHECK_THAT(large.way_in(f), Contains("SEARCH operation USING COVERING INDEX operation_owner (owner=?)"));
  }
  SECTION("error") {
    f.errors = {"timeout", "worker_lost"};
    CHECK_THAT(large.way_in(f), Contains("SEARCH operation USING COVERING INDEX operation_error (error_code=?)"));
    f.errors = {"timeout"};
    const auto s = large.searched(f);
    CHECK_THAT(large.explained(walk_statement(s, s.conditions.front().ordered_index)),
               Contains("INDEX operation_error (error_code=?") && !Contains("TEMP B-TREE"));
  }
  SECTION("parent") {
    f.parents = {large.top.id};
    CHECK_THAT(large.way_in(f), Contains("SEARCH operation USING COVERING INDEX operation_parent (parent=?)"));
  }
  SECTION("root") {
    f.roots = {large.top.id};
    CHECK_THAT(large.way_in(f), Contains("SEARCH operation USING COVERING INDEX operation_root (root=?)"));
    CHECK(large.planned(f).candidates.size() == 2);
  }
  SECTION("below") {
    f.below = large.top.id;
    CHECK_THAT(large.way_in(f), Contains("SEARCH c USING") && Contains("INDEX operation_parent (parent=?"));
    CHECK(large.planned(f).candidates.size() == 2);
  }
  SECTION("covered by a cancel of a scope") {
    f.covered_by = cancel_id::fresh();
    const auto c = cancel_of(target_scope{scope("team")}, 20'000);
    CHECK_THAT(large.way_in(f, c), Contains("USING COVERING INDEX operation_scope (scope>? AND scope<?)"));
    CHECK(large.planned(f, c).candidates.size() == 3);
  }
  SECTION("covered by a cancel of an operation") {
    f.covered_by = cancel_id::fresh();
    const auto c = cancel_of(target_operation{large.top.id}, 20'000);
    CHECK_THAT(large.way_in(f, c), Contains("SEARCH k USING INDEX operation_parent (parent=?"));
    CHECK(large.planned(f, c).candidates.size() == 2);
  }
  CHECK_THAT(large.way_in(f), !Contains("SCAN operation"));
}

TEST_CASE("of two filters the one with fewer rows leads") {
  large_store large;
  operation_filter f;
  f.scopes = {scope("team"), scope("other/1")};
  f.parents = {large.top.id};
  CHECK(large.planned(f).candidates == std::vector<std::int64_t>{10'001});
  f.parents = {operation_id::fresh()};
  CHECK(large.planned(f).what == search_plan::how::nothing);
}

TEST_CASE("a wide way in is not counted to its end beside a narrow one") {
  large_store large; // 6,000 operations live
  operation_filter f;
  f.want_ended = false;
  f.scopes = {scope("team/a")};
  int steps = 0;
  const auto count = [](unsigned, void* to, void* statement, void*) {
    *static_cast<int*>(to) += sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP, 1);
    return 0;
  };
  sqlite3_trace_v2(large.database->getHandle(), SQLITE_TRACE_PROFILE, count, &steps);
  CHECK(large.planned(f).candidates == std::vector<std::int64_t>{10'001, 10'000});
  CHECK(steps < 1'000);
}

TEST_CASE("a long list is walked in its own order, from where the last page ended, without sorting") {
  large_store large;
  operation_filter f;
  f.after_seq = 500;
  const auto walked = [&](const operation_filter& filter) {
    const auto s = large.searched(filter);
    statement_cache statements(*large.database);
    const auto p = plan(statements, s);
    CHECK(p.what == search_plan::how::walk);
    const auto text = large.explained(walk_statement(s, p.index));
    CHECK_THAT(text, !Contains("TEMP B-TREE"));
    return text;
  };
  CHECK_THAT(walked(f), Contains("SEARCH operation USING INTEGER PRIMARY KEY (rowid<?)"));
  f.ascending = true;
  CHECK_THAT(walked(f), Contains("SEARCH operation USING INTEGER PRIMARY KEY (rowid>?)"));
  f.owners = {"bob"};
  f.want_ended = false;
  f.scopes = {scope("other")};
  CHECK_THAT(walked(f), Contains("INDEX operation_live"));
  f.want_ended = true;
  CHECK_THAT(walked(f), Contains("INDEX operation_owner (owner=?"));
}

TEST_CASE("an update of a live operation rewrites no index, an end only those that know it") {
  large_store large;
  SQLite::Database writer(large.directory / "quell.db", SQLite::OPEN_READWRITE);
  const auto index_writes = [&](const std::string& sql) {
    SQLite::Statement rows(writer, "EXPLAIN " + sql);
    int count = 0;
    while (rows.executeStep()) count += rows.getColumn(1).getString() == "IdxInsert";
    return count;
  };
  CHECK(index_writes(update_live_sql) == 2); // of unsuccessful ends and of errors: a live row fails their conditions
  CHECK(index_writes(update_ended_sql) == 4);
}
