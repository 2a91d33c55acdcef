// The cost of a page of a long conversation depends on the page only: the test reads SQLite's own plan and counts its
// steps.
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

constexpr std::uint64_t messages = 100'000;

/// One scope with 100,000 messages: every other group of four is a sub-agent's, and some have a client's id.
struct long_history {
  temp_directory directory{"/dev/shm"};
  store s{directory.path()};
  operation_id agent = operation_id::fresh(), last_turn;
  SQLite::Database database;

  long_history() : database(written(), SQLite::OPEN_READONLY) { set_up_reader(database); }

  std::string written() {
    std::uint64_t seq = 0, last = 0;
    while (seq < messages) {
      std::vector<entry> batch;
      for (int i = 0; i < 500; ++i) {
        const bool aside = seq / 4 % 2 == 1;
        if (seq % 8 == 0) last_turn = operation_id::fresh();
        const auto role = static_cast<message_role>(seq % 4 % 3);
        auto m = message(++seq, "team/a", role);
        m.aside = aside;
        m.turn = aside ? agent : last_turn;
        if (seq % 40 == 1) m.client_id = std::to_string(seq);
        if (m.role == message_role::assistant) batch.push_back(put_call{call(m, 0)});
        batch.push_back(put_message{std::move(m)});
      }
      last = s.log->submit(std::move(batch));
    }
    REQUIRE_FALSE(s.log_notices.outcome(last));
    return directory / database_file;
  }

  std::string plan_of(const std::string& sql) {
    SQLite::Statement rows(database, "EXPLAIN QUERY PLAN " + sql);
    std::string plan;
    while (rows.executeStep()) plan += rows.getColumn(3).getString() + "\n";
    return plan;
  }

  /// The plan of a page; at every position it takes as many steps of SQLite's machine as it has rows.
  std::string page(const message_filter& f) {
    statement_cache statements(database);
    const auto walk = walk_statement(search_for(f), plan(statements, search_for(f)).index);
    sqlite3_stmt* raw = nullptr;
    REQUIRE(sqlite3_prepare_v2(database.getHandle(), walk.sql.c_str(), -1, &raw, nullptr) == SQLITE_OK);
    int next = 1;
    for (const auto& p : walk.parameters) {
      if (p.what == parameter::type::number)
        sqlite3_bind_int64(raw, next++, p.number);
      else if (p.what == parameter::type::text)
        sqlite3_bind_text(raw, next++, p.text.data(), static_cast<int>(p.text.size()), SQLITE_STATIC);
      else
        sqlite3_bind_blob(raw, next++, p.text.data(), static_cast<int>(p.text.size()), SQLITE_STATIC);
    }
    std::uint32_t rows = 0;
    while (sqlite3_step(raw) == SQLITE_ROW) ++rows;
    const int steps = sqlite3_stmt_status(raw, SQLITE_STMTSTATUS_VM_STEP, 0);
    CHECK(sqlite3_stmt_status(raw, SQLITE_STMTSTATUS_SORT, 0) == 0);
    sqlite3_finalize(raw);
    CHECK(rows == f.limit);
    CHECK(steps < 2'000);
    const auto text = plan_of(walk.sql);
    CHECK_THAT(text, !Contains("SCAN") && !Contains("TEMP B-TREE"));
    return text;
  }
};

} // namespace

TEST_CASE("a page of a conversation of 100,000 messages is read without a scan, and so is all that is looked up") {
  long_history h;
  message_filter f;
  f.scope = scope("team/a");
  f.ascending = false;
  CHECK_THAT(h.page(f), Contains("INDEX message_scope (scope=?"));
  f.after_seq = messages / 2;
  CHECK_THAT(h.page(f), Contains("INDEX message_scope (scope=? AND rowid<?)"));
  f.above_seq = 10;
  CHECK_THAT(h.page(f), Contains("INDEX message_scope (scope=? AND rowid>? AND rowid<?)"));
  f.ascending = true;
  CHECK_THAT(h.page(f), Contains("INDEX message_scope (scope=? AND rowid>?)"));
  f.aside_of = h.agent;
  CHECK_THAT(h.page(f), Contains("INDEX message_aside (turn=? AND rowid>?)"));
  f.ascending = false;
  f.above_seq.reset();
  CHECK_THAT(h.page(f), Contains("INDEX message_aside (turn=? AND rowid<?)"));

  auto reader = open_reader(h.directory.path());
  REQUIRE(reader);
  f = {};
  f.scope = scope("team/a");
  f.ascending = false;
  const auto newest = (*reader)->messages(f).value();
  REQUIRE(newest.size() == 100);
  CHECK(newest.front().message.seq == 99'996); // the last group of four is a sub-agent's
  CHECK(newest.back().message.seq == 99'801);
  CHECK((*reader)->message_of_client(f.scope, "50001").value()->seq == 50'001);

  CHECK_THAT(h.plan_of(discard_message_sql), Contains("INDEX message_asked (turn=?)"));
  CHECK_THAT(h.plan_of(end_message_sql), Contains("INDEX message_asked (turn=?)"));
  CHECK_THAT(h.plan_of(settle_call_sql), Contains("sqlite_autoindex_call_1 (operation=?)"));
  REQUIRE_FALSE(h.s.write({discard_message{h.last_turn}}));
  f.limit = 4;
  std::vector<bool> discarded;
  const auto last_four = (*reader)->messages(f).value();
  for (const auto& kept : last_four) discarded.push_back(kept.message.discarded);
  CHECK(discarded == std::vector{true, false, false, true}); // the user's, newest first
}

TEST_CASE("a result of a call rewrites no index") {
  temp_directory directory;
  const store s(directory.path());
  SQLite::Database writer(directory / database_file, SQLite::OPEN_READWRITE);
  SQLite::Statement rows(writer, "EXPLAIN " + settle_call_sql);
  int count = 0;
  while (rows.executeStep()) count += rows.getColumn(1).getString() == "IdxInsert";
  CHECK(count == 0);
}
