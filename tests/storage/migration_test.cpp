// Stores of older versions: upgraded with their contents, also when the disk fails in the middle of the upgrade.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <catch2/catch.hpp>

#include "storage/schema.hpp"
#include "tests/storage/faulty_disk.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

/// Packed parts as version 1 wrote them: another first byte, and nothing after the task.
void unpack_to_version_1(SQLite::Database& database, const std::string& table) {
  SQLite::Statement rows(database, "SELECT seq, cold FROM " + table + " WHERE cold IS NOT NULL");
  SQLite::Statement change(database, "UPDATE " + table + " SET cold = ? WHERE seq = ?");
  while (rows.executeStep()) {
    auto cold = rows.getColumn(1).getString();
    REQUIRE(cold.front() == 2);
    REQUIRE(cold.back() == 0); // an empty block
    cold.front() = 1;
    cold.pop_back();
    change.bind(1, cold.data(), static_cast<int>(cold.size()));
    change.bind(2, rows.getColumn(0).getInt64());
    REQUIRE(change.exec() == 1);
    change.reset();
  }
}

/// Turns a store of this version into one of an older build.
void take_back_to(int version, const std::string& directory) {
  SQLite::Database database(directory + "/" + database_file, SQLite::OPEN_READWRITE);
  database.exec("DROP TABLE message");
  database.exec("DROP TABLE call");
  database.exec("ALTER TABLE operation DROP COLUMN via_token");
  unpack_to_version_1(database, "operation");
  unpack_to_version_1(database, "operation_bulk");
  if (version < 2)
    for (const char* column : {"stop_reason", "stop_by", "stop_by_name"})
      database.exec(std::string("ALTER TABLE operation DROP COLUMN ") + column);
  database.exec("PRAGMA user_version=" + std::to_string(version));
}

/// A store of an older version with three operations, one of them large.
struct old_store {
  temp_directory directory{"/dev/shm"};
  std::vector<operation_record> kept{full_operation(100), operation(101, "team/a"), operation(102, "team")};

  explicit old_store(int version) {
    kept[0].hot.ended_seq = 0;
    kept[0].hot.now = status::running;
    kept[2].task.env["BIG"] = std::string(100'000, 'x');
    {
      store s(directory.path());
      REQUIRE_FALSE(s.write({reserve_seq{1'000}, put_operation{kept[0]}, put_operation{kept[1]}, put_operation{kept[2]},
                             put_event{event(7, "audit")}}));
    }
    take_back_to(version, directory.path());
    kept[0].via_token_id.clear(); // what no older version knew
  }

  /// Every row is there, and the features that the older version lacked work.
  void check_up_to_date() {
    store s(directory.path());
    CHECK(s.recovered.live == kept);
    CHECK(s.recovered.next_seq == 1'000);
    CHECK(s.recovered.next_event == 8);
    CHECK(ask(directory.path(), "PRAGMA user_version") == std::to_string(schema_version));
    auto stored = message(s.recovered.next_seq, "team/a", message_role::user);
    auto turn = operation(s.recovered.next_seq + 1, "team/a");
    turn.kind = kind::turn;
    turn.task = {};
    turn.via_token_id = "service:irc";
    turn.kind_data = R"({"agent":"coder"})";
    REQUIRE_FALSE(s.write({put_message{stored}, put_operation{turn}}));
    auto q = open_reader(directory.path());
    REQUIRE(q);
    const auto history = (*q)->messages({.scope = scope("team/a"), .aside_of = {}, .above_seq = {}}).value();
    REQUIRE(history.size() == 1);
    CHECK(history.front().message == stored);
    CHECK((*q)->operation(turn.id).value() == turn);
    for (const auto& o : kept) CHECK((*q)->operation(o.id).value() == o);
    CHECK(integrity(directory.path()) == "ok");
  }
};

} // namespace

TEST_CASE("a store of version 3 keeps its messages, and what it could not know of them is nothing") {
  temp_directory directory{"/dev/shm"};
  auto stored = message(100, "team/a", message_role::user);
  stored.decision = "f00d"; // the hash of a body in that version
  stored.acknowledged.reset();
  {
    store s(directory.path());
    REQUIRE_FALSE(s.write({reserve_seq{1'000}, put_message{stored}}));
  }
  {
    SQLite::Database database(directory.path() + "/" + database_file, SQLite::OPEN_READWRITE);
    database.exec("DROP INDEX message_unacknowledged");
    database.exec("ALTER TABLE message DROP COLUMN acknowledged");
    database.exec("ALTER TABLE message RENAME COLUMN decision TO fingerprint");
    database.exec("ALTER TABLE operation DROP COLUMN via_token");
    database.exec("PRAGMA user_version=3");
  }
  store s(directory.path());
  stored.decision.clear();
  const auto history =
      open_reader(directory.path()).value()->messages({.scope = scope("team/a"), .aside_of = {}, .above_seq = {}});
  REQUIRE(history.value().size() == 1);
  CHECK(history.value().front().message == stored);
  CHECK(integrity(directory.path()) == "ok");
}

TEST_CASE("operations of version 5 are nobody's, and stay so when their rows change") {
  temp_directory directory{"/dev/shm"};
  auto running = full_operation(100), over = full_operation(101);
  running.hot.ended_seq = 0;
  running.hot.now = status::running;
  {
    store s(directory.path());
    REQUIRE_FALSE(s.write({reserve_seq{1'000}, put_operation{running}, put_operation{over}}));
  }
  {
    SQLite::Database database(directory.path() + "/" + database_file, SQLite::OPEN_READWRITE);
    database.exec("ALTER TABLE operation DROP COLUMN via_token");
    database.exec("PRAGMA user_version=5");
  }
  running.via_token_id.clear();
  over.via_token_id.clear();
  {
    store s(directory.path());
    CHECK(s.recovered.live == std::vector{running});
    running.hot.pid = 7;
    REQUIRE_FALSE(s.write({update_operation{running.id, running.hot}}));
  }
  store again(directory.path());
  CHECK(again.recovered.live == std::vector{running});
  CHECK(open_reader(directory.path()).value()->operation(over.id).value() == over);
  CHECK(integrity(directory.path()) == "ok");
}

TEST_CASE("a store of version 1 or 2 is brought up to date with what is in it") {
  old_store old(GENERATE(1, 2));
  old.check_up_to_date();
}

TEST_CASE("a store of version 1 can say who ordered a drain once it is up to date") {
  old_store old(1);
  store s(old.directory.path());
  auto drained = ended(old.kept[1], 500, status::cancelled);
  drained.hot.stop = stop_state{stop_cause::drain, 400, {}, {}, {}, receipt::killed, proof::cgroup_empty};
  drained.hot.stop->reason = "kernel update";
  drained.hot.stop->by = person{"root", "Root"};
  REQUIRE_FALSE(s.write({drained}));
  auto q = open_reader(old.directory.path());
  REQUIRE(q);
  CHECK((*(*q)->operation(old.kept[1].id))->hot == drained.hot);
}

TEST_CASE("a migration that fails at any call of the disk is done by the next start, and loses nothing") {
  const auto calls = GENERATE(disk_calls::changes, disk_calls::all);
  const auto what = GENERATE(disk_trouble::once, disk_trouble::full, disk_trouble::broken);
  faulty_disk disk;
  bool reached = true;
  for (std::uint64_t nth = 1; reached; ++nth) {
    INFO("trouble " << static_cast<int>(what) << " at call " << nth);
    old_store old(2);
    disk.fail(what, nth, calls);
    auto opened = journal::open({.directory = old.directory.path()});
    if (opened) opened->reset();
    reached = disk.has_failed();
    disk.heal();
    old.check_up_to_date();
    REQUIRE(nth < 1000);
  }
}
