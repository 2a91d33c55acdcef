// Every filter of the public lists reads a bounded number of rows at a time, however large the store: the test runs
// each one on a store in which next to nothing passes, and counts what SQLite does.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "storage/filters.hpp"
#include "storage/schema.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

constexpr std::uint64_t cost_rows = 30'000;
/// A walk over all rows takes more steps of SQLite's machine.
constexpr int most_steps_of_a_statement = 100'000;

struct costly_store {
  temp_directory directory{"/dev/shm"};
  store s{directory.path()};
  operation_record top = operation(100'000, "team/a");
  std::vector<operation_record> failed;
  std::unique_ptr<SQLite::Database> database;
  std::set<std::string> statements;
  int most_steps = 0;
  std::string costliest;

  costly_store() {
    for (std::uint64_t from = 1; from <= cost_rows; from += 1'000) {
      std::vector<entry> batch{reserve_seq{1'000'000}};
      for (std::uint64_t seq = from; seq < from + 1'000; ++seq) {
        auto o = operation(seq, "other/" + std::to_string(seq % 7));
        o.hot.now = status::completed;
        o.hot.ended_seq = seq + 200'000;
        batch.push_back(put_operation{o});
        auto c = cancel_of(target_scope{scope("other")}, seq + 400'000);
        c.status = cancel_status::settled;
        batch.push_back(put_cancel{c});
        batch.push_back(put_event{event(seq, "operation_created")});
      }
      REQUIRE_FALSE(s.write(std::move(batch)));
    }
    std::vector<entry> batch{put_operation{top}, put_operation{operation(100'001, "team/a/b", &top)}};
    for (std::uint64_t seq : {1'001, 2'002, 3'003}) {
      failed.push_back(operation(200'000 + seq, "other"));
      failed.back().hot.now = status::failed;
      failed.back().hot.ended_seq = 300'000 + seq;
      batch.push_back(put_operation{failed.back()});
    }
    REQUIRE_FALSE(s.write(std::move(batch)));
    database = std::make_unique<SQLite::Database>(directory / "quell.db", SQLite::OPEN_READONLY);
    set_up_reader(*database);
  }

  static int note(unsigned, void* self, void* statement, void*) {
    auto& here = *static_cast<costly_store*>(self);
    auto* done = static_cast<sqlite3_stmt*>(statement);
    here.statements.insert(sqlite3_sql(done));
    const int steps = sqlite3_stmt_status(done, SQLITE_STMTSTATUS_VM_STEP, 1);
    if (steps > here.most_steps) {
      here.most_steps = steps;
      here.costliest = sqlite3_sql(done);
    }
    return 0;
  }

  /// Runs the search as a list whose time is over at once: it ends at its first look at the clock.
  found_keys run(const search& what) {
    statements.clear();
    most_steps = 0;
    costliest.clear();
    sqlite3_trace_v2(database->getHandle(), SQLITE_TRACE_PROFILE, note, this);
    statement_cache prepared(*database);
    auto found = find(prepared, what, [] { return true; });
    sqlite3_trace_v2(database->getHandle(), 0, nullptr, nullptr);
    CAPTURE(costliest);
    CHECK(most_steps < most_steps_of_a_statement);
    CHECK_FALSE(statements.empty());
    for (const auto& sql : statements) check_plan(sql);
    return found;
  }

  /// A scan is allowed only along an index that holds what is open now.
  void check_plan(const std::string& sql) {
    SQLite::Statement rows(*database, "EXPLAIN QUERY PLAN " + sql);
    while (rows.executeStep()) {
      const std::string line = rows.getColumn(3).getString();
      INFO(sql);
      CAPTURE(line);
      CHECK(line.find("TEMP B-TREE FOR ORDER BY") == std::string::npos);
      for (const std::string table : {"operation", "cancel", "event", "message"}) {
        if (!(line + " ").starts_with("SCAN " + table + " ")) continue;
        const bool is_short = line.find("INDEX operation_live") != std::string::npos ||
                              line.find("INDEX cancel_open") != std::string::npos;
        CHECK(is_short);
      }
    }
  }

  template <class Filter>
  found_keys list(const Filter& f) {
    auto what = search_for(f);
    REQUIRE(what);
    return run(*what);
  }
  found_keys list(const operation_filter& f, const std::optional<cancel_record>& covering = {}) {
    auto what = search_for(f, covering);
    REQUIRE(what);
    return run(*what);
  }
};

} // namespace

TEST_CASE("no filter of operations scans without bound") {
  costly_store large;
  const auto far = at(4'000'000'000'000);
  std::vector<std::pair<std::string, operation_filter>> all(20);
  std::size_t next = 0;
  const auto add = [&](std::string name, auto change) {
    REQUIRE(next < all.size());
    all[next].first = std::move(name);
    change(all[next++].second);
  };
  add("kind", [](auto& f) { f.kinds = {kind::tool_call}; });
  add("name", [](auto& f) { f.names = {"nobody is called this"}; });
  add("worker", [](auto& f) { f.workers = {"w9"}; });
  add("label", [](auto& f) { f.labels = {{"a", "b"}}; });
  add("since", [&](auto& f) { f.since = far; });
  add("until", [](auto& f) { f.until = at(1); });
  add("error", [](auto& f) { f.errors = {"nothing ended with this"}; });
  add("failed with an error", [](auto& f) {
    f.want_live = false;
    f.ended_statuses = {status::failed};
    f.errors = {"nothing ended with this"};
  });
  add("ended since", [&](auto& f) { f.ended_since = far; });
  add("ended until", [](auto& f) { f.ended_until = at(1); });
  add("owner", [](auto& f) { f.owners = {"nobody"}; });
  add("everyone's owner and another name", [](auto& f) {
    f.owners = {"alice"};
    f.names = {"nobody is called this"};
  });
  add("scope", [](auto& f) { f.scopes = {scope("other")}; });
  add("within", [](auto& f) { f.within = scope("team"); });
  add("parent", [&](auto& f) { f.parents = {large.top.id}; });
  add("root", [&](auto& f) { f.roots = {large.top.id}; });
  add("below", [&](auto& f) { f.below = large.top.id; });
  add("live", [](auto& f) { f.want_ended = false; });
  add("cancelled", [](auto& f) {
    f.want_live = false;
    f.ended_statuses = {status::cancelled};
  });
  add("completed, of one name", [](auto& f) {
    f.want_live = false;
    f.ended_statuses = {status::completed};
    f.names = {"nobody is called this"};
  });
  REQUIRE(next == all.size());
  for (auto& [name, f] : all)
    for (const bool ascending : {false, true}) {
      INFO(name << (ascending ? " ascending" : ""));
      f.ascending = ascending;
      const auto found = large.list(f);
      // A page that is not full is the whole truth, or names the row from which the next one goes on.
      statement_cache prepared(*large.database);
      if (!found.cut_at) CHECK(found.keys == find(prepared, search_for(f, std::nullopt).value()));
    }
}

TEST_CASE("a list of failed operations meets no completed one") {
  costly_store large;
  operation_filter f;
  f.want_live = false;
  f.ended_statuses = {status::failed};
  for (const bool with_live : {false, true}) {
    f.want_live = with_live;
    auto found = large.list(f);
    CHECK_FALSE(found.cut_at);
    std::vector<std::int64_t> expected;
    if (with_live) expected = {100'000, 100'001};
    for (const auto& o : large.failed) expected.push_back(static_cast<std::int64_t>(o.seq));
    std::reverse(expected.begin(), expected.end());
    CHECK(found.keys == expected);
    CHECK(large.most_steps < 1'000);
  }
  SECTION("also when there are more of them than a count reads") {
    std::vector<entry> batch;
    for (std::uint64_t seq = 500'000; seq < 506'000; ++seq) {
      const auto o = operation(seq, "other");
      batch.push_back(put_operation{o});
      batch.push_back(ended(o, seq + 100'000, status::failed));
    }
    REQUIRE_FALSE(large.s.write(std::move(batch)));
    f.want_live = false;
    f.limit = 10;
    const auto found = large.list(f);
    REQUIRE(found.keys.size() == 10);
    CHECK(found.keys.front() == 505'999);
    CHECK_FALSE(found.cut_at);
  }
}

TEST_CASE("no filter of cancels, events and messages scans without bound") {
  costly_store large;
  SECTION("cancels") {
    cancel_filter f;
    f.owner = "nobody";
    (void)large.list(f);
    f = {};
    f.scopes = {scope("team")};
    CHECK(large.list(f).keys.empty());
    f = {};
    f.only_open = true;
    CHECK(large.list(f).keys.empty());
    f = {};
    f.status = cancel_status::signalled;
    CHECK(large.list(f).keys.empty());
    f.status = cancel_status::settled;
    f.owner = "nobody";
    CHECK(large.list(f).cut_at);
    f = {};
    f.operation = large.failed.front().id;
    (void)large.list(f);
  }
  SECTION("events") {
    event_filter f;
    f.types = {event_type::cancel_settled};
    CHECK(large.list(f).cut_at);
    f.after = 29'000;
    f.up_to = 29'200; // less than a slice: the rows behind it are not looked at
    CHECK_FALSE(large.list(f).cut_at);
    f = {};
    f.scopes = {scope("team")};
    (void)large.list(f);
    f = {};
    f.below = large.top.id;
    (void)large.list(f);
  }
  SECTION("messages") {
    message_filter f{.scope = scope("team/a"), .aside_of = {}, .above_seq = {}};
    (void)large.run(search_for(f));
    f.aside_of = large.top.id;
    f.above_seq = 7;
    (void)large.run(search_for(f));
  }
}
