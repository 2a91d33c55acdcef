// The live operations of a start: read in parts by several threads, they are what one thread reads, and a row that
// cannot be read is named.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <catch2/catch.hpp>

#include "storage/live_reader.hpp"
#include "storage/live_rows.hpp"
#include "storage/recovery.hpp"
#include "storage/schema.hpp"
#include "tests/storage/faulty_disk.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;
using Catch::Contains;

namespace {

/// Of all kinds, running and stopped, with large and small tasks.
operation_record some_operation(std::uint64_t seq) {
  auto row = seq % 5 == 0 ? full_operation(seq) : operation(seq, "team/" + std::to_string(seq % 3));
  row.hot.ended_seq = 0;
  if (seq % 5 == 0) row.hot.now = status::cancelling;
  if (seq % 7 == 0) row.labels = {{"n", std::to_string(seq)}};
  if (seq % 11 == 0) {
    row.kind = kind::tool_call;
    row.task = {};
    row.kind_data = R"({"call":"c"})";
    row.call_change = "changed " + std::to_string(seq);
  }
  if (seq % 97 == 0) row.task.command.push_back(std::string(5'000, 'x'));
  return row;
}

/// A store with rows of these seqs; those that `ends` names have ended.
template <class Ends>
std::vector<operation_record> filled(const std::string& directory, std::uint64_t rows, Ends ends) {
  store s(directory);
  std::vector<operation_record> live;
  std::vector<entry> batch;
  const auto write = [&] { REQUIRE_FALSE(s.write(std::exchange(batch, {}))); };
  for (std::uint64_t seq = 1; seq <= rows; ++seq) {
    const auto row = some_operation(seq);
    auto made = row;
    made.call_change.clear();
    batch.push_back(put_operation{made});
    if (!row.call_change.empty()) batch.push_back(put_call_change{row.id, row.call_change});
    if (ends(seq))
      batch.push_back(ended(row, seq + 1'000'000));
    else
      live.push_back(row);
    if (batch.size() > 500) write();
  }
  write();
  return live;
}

std::vector<operation_record> read_by_one(const std::string& directory) {
  SQLite::Database database(directory + "/" + database_file, SQLite::OPEN_READONLY);
  return recover(database).live;
}

std::unique_ptr<journal> open_store(const std::string& directory) {
  auto opened = journal::open({.directory = directory});
  REQUIRE(opened);
  return std::move(*opened);
}

void change(const std::string& directory, const std::string& sql) {
  SQLite::Database database(directory + "/" + database_file, SQLite::OPEN_READWRITE);
  database.exec(sql);
}

std::vector<std::uint64_t> seqs_of_all(records::recovered_state& state) {
  auto found = seqs(state.live);
  while (true) {
    const auto some = seqs(state.more_live());
    if (some.empty()) return found;
    found.insert(found.end(), some.begin(), some.end());
  }
}

constexpr std::uint64_t many = 5 * live_reader::most_in_part;

} // namespace

TEST_CASE("live operations of all kinds that come in parts are those that one thread reads, in order") {
  temp_directory directory("/dev/shm");
  const auto live = filled(directory.path(), many, [](std::uint64_t) { return false; });
  CHECK(read_by_one(directory.path()) == live);
  CHECK(store(directory.path()).recovered.live == live);
}

TEST_CASE("live operations among many that ended are all found, and no other") {
  temp_directory directory("/dev/shm");
  // The first part is dense, the next ones are not, and one of them has a gap in it.
  const auto ends = [](std::uint64_t seq) { return seq > 1'500 && (seq % 3 != 0 || seq / 1'000 == 5); };
  const auto live = filled(directory.path(), 2 * many, ends);
  REQUIRE(live.size() > 3 * live_reader::most_in_part);
  CHECK(read_by_one(directory.path()) == live);
  CHECK(store(directory.path()).recovered.live == live);
}

TEST_CASE("exactly one part of live operations is whole") {
  temp_directory directory("/dev/shm");
  const auto live = filled(directory.path(), live_reader::most_in_part, [](std::uint64_t) { return false; });
  CHECK(store(directory.path()).recovered.live == live);
}

TEST_CASE("a start that meets a corrupt row among the first is refused, and names it") {
  temp_directory directory("/dev/shm");
  filled(directory.path(), 100, [](std::uint64_t) { return false; });
  change(directory.path(), "UPDATE operation SET cold = x'02' WHERE seq = 42");
  const auto opened = journal::open({.directory = directory.path()});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == "database_corrupt");
  CHECK_THAT(opened.error().detail, Contains("row 42 of table operation") && Contains("cut short"));
}

TEST_CASE("a corrupt row far behind is named when its part is due") {
  temp_directory directory("/dev/shm");
  filled(directory.path(), many, [](std::uint64_t) { return false; });
  change(directory.path(), "UPDATE operation SET kind = 99 WHERE seq = " + std::to_string(many - 1));
  const auto log = open_store(directory.path());
  auto state = log->take_recovered();
  std::optional<fault> why;
  try {
    seqs_of_all(state);
  } catch (const records::unreadable& e) {
    why = e.why;
  }
  REQUIRE(why);
  CHECK(why->code == "database_corrupt");
  CHECK_THAT(why->detail,
             Contains("row " + std::to_string(many - 1) + " of table operation") && Contains("--restored"));
  CHECK_THROWS_AS(state.more_live(), records::unreadable); // and it stays so
}

TEST_CASE("a disk that fails while live operations are read makes the start fail, and never loses some of them") {
  temp_directory directory("/dev/shm");
  const auto live = filled(directory.path(), many, [](std::uint64_t) { return false; });
  faulty_disk disk;
  bool reached = true;
  for (std::uint64_t nth = 1; reached; nth += 1 + nth / 4) {
    INFO("read " << nth);
    disk.fail(disk_trouble::broken, nth, disk_calls::reads);
    if (const auto opened = journal::open({.directory = directory.path()})) {
      auto state = (*opened)->take_recovered();
      try {
        const auto found = seqs_of_all(state);
        CHECK(found == seqs(live));
      } catch (const records::unreadable& e) {
        CHECK(!e.why.detail.empty());
      }
    }
    reached = disk.has_failed();
    disk.heal();
  }
  CHECK(seqs(store(directory.path()).recovered.live) == seqs(live));
}

TEST_CASE("what is not taken in does not keep a start from ending") {
  temp_directory directory("/dev/shm");
  filled(directory.path(), many, [](std::uint64_t) { return false; });
  const auto log = open_store(directory.path());
  auto state = log->take_recovered();
  CHECK_FALSE(state.more_live().empty());
  state = {}; // joins the threads
  log->close();
  CHECK(integrity(directory.path()) == "ok");
}
