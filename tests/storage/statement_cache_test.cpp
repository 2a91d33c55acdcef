// Prepared statements are kept by their text, and come back without rows and values.
#include "storage/statement_cache.hpp"

#include <SQLiteCpp/Database.h>

#include <catch2/catch.hpp>

using quell::storage::statement_cache;

namespace {

struct three_rows {
  SQLite::Database database{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  three_rows() {
    database.exec("CREATE TABLE t (n INTEGER, name TEXT); INSERT INTO t VALUES (1,'a'), (2,'b'), (3,'c')");
  }
};

const std::string by_name = "SELECT n FROM t WHERE name = ? OR ? IS NULL ORDER BY n";

} // namespace

TEST_CASE("a statement that was used is kept, and begins anew") {
  three_rows t;
  statement_cache statements(t.database);
  const SQLite::Statement* first = nullptr;
  {
    const auto used = statements.take(by_name);
    first = &*used;
    (*used).bind(1, "b");
    (*used).bind(2, 1);
    REQUIRE((*used).executeStep());
    CHECK((*used).getColumn(0).getInt() == 2);
  }
  CHECK(statements.kept() == 1);
  const auto used = statements.take(by_name);
  CHECK(&*used == first);
  CHECK(statements.kept() == 0);
  REQUIRE((*used).executeStep());
  CHECK((*used).getColumn(0).getInt() == 1); // without values every row passes
}

TEST_CASE("a statement in use is not given twice") {
  three_rows t;
  statement_cache statements(t.database);
  {
    const auto outer = statements.take(by_name), inner = statements.take(by_name);
    CHECK(&*outer != &*inner);
    REQUIRE((*outer).executeStep());
    REQUIRE((*inner).executeStep());
    REQUIRE((*outer).executeStep());
    CHECK((*outer).getColumn(0).getInt() == 2);
  }
  CHECK(statements.kept() == 2);
}

TEST_CASE("the statements that were used last are kept") {
  three_rows t;
  statement_cache statements(t.database, 2);
  const SQLite::Statement* one = nullptr;
  {
    const auto used = statements.take("SELECT 1");
    one = &*used;
  }
  { const auto used = statements.take("SELECT 2"); }
  { const auto again = statements.take("SELECT 1"); }
  { const auto used = statements.take("SELECT 3"); }
  CHECK(statements.kept() == 2);
  const auto again = statements.take("SELECT 1");
  CHECK(&*again == one);
}

TEST_CASE("a statement that was given up is not kept") {
  three_rows t;
  statement_cache statements(t.database);
  {
    const auto used = statements.take("SELECT abs(-9223372036854775807 - n) FROM t");
    CHECK_THROWS_AS((*used).executeStep(), SQLite::Exception);
  }
  CHECK(statements.kept() == 0);
}

TEST_CASE("a kept statement holds no row and no snapshot") {
  three_rows t;
  statement_cache statements(t.database);
  {
    const auto used = statements.take("SELECT n FROM t");
    REQUIRE((*used).executeStep()); // and more rows would follow
  }
  t.database.exec("BEGIN; DELETE FROM t; COMMIT");
  const auto used = statements.take("SELECT n FROM t");
  CHECK_FALSE((*used).executeStep());
}
