// Reasons for which a store does not open, and the faults that report them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <SQLiteCpp/Database.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/storage/child.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;
using Catch::Matchers::Contains;

namespace {

fault fault_of(journal::options o) {
  auto opened = journal::open(std::move(o));
  if (opened) return {"opened", "", ""};
  return opened.error();
}
fault fault_of(const std::string& directory) { return fault_of(journal::options{.directory = directory}); }

/// The answer to opening as user nobody: "code: detail".
std::string opened_by_nobody(const std::string& directory) {
  return in_child([&]() -> std::string {
    if (setgid(65534) != 0 || setuid(65534) != 0) return "skip";
    const auto f = fault_of(directory);
    return f.code + ": " + f.detail;
  });
}

unsigned mode_of(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

} // namespace

TEST_CASE("a new store is private: directory 0700, files 0600") {
  temp_directory directory;
  const auto state = directory / "a/b/state";
  store s(state);
  REQUIRE_FALSE(s.write({reserve_seq{10}}));
  CHECK(mode_of(state) == 0700);
  for (const auto& file : std::filesystem::directory_iterator(state)) {
    INFO(file.path());
    CHECK(mode_of(file.path()) == 0600);
  }
}

TEST_CASE("a second controller on the same directory is refused, and told the pid of the first") {
  temp_directory directory;
  {
    store first(directory.path());
    const auto refused = fault_of(directory.path());
    CHECK(refused.code == "state_in_use");
    CHECK_THAT(refused.detail, Contains("process " + std::to_string(getpid())) && Contains(directory.path()));
    const auto child_output = in_child([&] {
      const auto f = fault_of(directory.path());
      return f.code + ": " + f.detail;
    });
    CHECK_THAT(child_output, Contains("state_in_use") && Contains("process " + std::to_string(getpid())));
    REQUIRE_FALSE(first.write({reserve_seq{10}}));
  }
  CHECK(store(directory.path()).recovered.next_seq == 10);
}

TEST_CASE("a directory that may not be written is refused as read only") {
  if (getuid() != 0) {
    WARN("skipped: needs root to become another user");
    return;
  }
  temp_directory directory;
  chmod(directory.path().c_str(), 0755);
  CHECK_THAT(opened_by_nobody(directory.path()),
             Contains("read_only") && Contains(directory.path()) && Contains("belong to the user that runs quelld"));
  CHECK_THAT(opened_by_nobody(directory / "new"), Contains("read_only") && Contains("new"));
  { store s(directory.path()); }
  CHECK_THAT(opened_by_nobody(directory.path()), Contains("read_only"));
}

TEST_CASE("a state directory that is a file is refused") {
  temp_directory directory;
  std::ofstream(directory / "file") << "x";
  const auto refused = fault_of(directory / "file");
  CHECK(refused.code == "read_only");
  CHECK_THAT(refused.detail, Contains("Not a directory"));
}

TEST_CASE("a file that is not a database is refused as corrupt and left as it is") {
  temp_directory directory;
  const std::string garbage(10'000, 'g');
  std::ofstream(directory / "quell.db") << garbage;
  const auto refused = fault_of(directory.path());
  CHECK(refused.code == "database_corrupt");
  CHECK_THAT(refused.detail, Contains(directory.path()) && Contains("--restored"));
  std::ifstream file(directory / "quell.db");
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == garbage);
}

TEST_CASE("damaged pages are found at the start") {
  temp_directory directory;
  {
    store s(directory.path());
    std::vector<entry> batch;
    for (std::uint64_t seq = 1; seq <= 500; ++seq) batch.push_back(put_operation{full_operation(seq)});
    for (auto& e : batch) std::get<put_operation>(e).record->hot.ended_seq = 0;
    REQUIRE_FALSE(s.write(std::move(batch)));
  }
  const auto size = std::filesystem::file_size(directory / "quell.db");
  {
    std::fstream file(directory / "quell.db", std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t page = size / 4096 / 4; page < size / 4096; page += 2) {
      file.seekp(static_cast<std::streamoff>(page * 4096));
      file << std::string(4096, '\xa5');
    }
  }
  CHECK(fault_of(directory.path()).code == "database_corrupt");
}

TEST_CASE("a database of somebody else is refused and not touched") {
  temp_directory directory;
  {
    SQLite::Database other(directory / "quell.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE mine (x)");
  }
  CHECK(fault_of(directory.path()).code == "database_corrupt");
  CHECK(ask(directory.path(), "SELECT group_concat(name) FROM sqlite_schema") == "mine");
}

TEST_CASE("a store of a newer version is refused with what to do") {
  temp_directory directory;
  { store s(directory.path()); }
  {
    SQLite::Database newer(directory / "quell.db", SQLite::OPEN_READWRITE);
    newer.exec("PRAGMA user_version = 99");
  }
  const auto refused = fault_of(directory.path());
  CHECK(refused.code == "newer_schema");
  CHECK_THAT(refused.detail, Contains("newer quelld"));
  CHECK(ask(directory.path(), "PRAGMA user_version") == "99");
}

TEST_CASE(
    "a database that another process keeps locked is refused after the timeout, and a write fails without a trace") {
  temp_directory directory;
  { store s(directory.path()); }
  const journal::options patient{.directory = directory.path(), .busy_timeout = milliseconds{30}};
  SQLite::Database other(directory / "quell.db", SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  const auto refused = fault_of(patient);
  CHECK(refused.code == "database_locked");
  CHECK_THAT(refused.detail, Contains("another process"));
  other.exec("ROLLBACK");

  store s(patient);
  REQUIRE_FALSE(s.write({put_operation{operation(1, "a")}}));
  other.exec("BEGIN IMMEDIATE");
  CHECK(s.write({put_operation{operation(2, "a")}})->code == "database_locked");
  other.exec("ROLLBACK");
  CHECK_FALSE(s.write({put_operation{operation(3, "a")}}));
  CHECK(ask(directory.path(), "SELECT group_concat(seq) FROM operation") == "1,3");
}

TEST_CASE("each start raises the epoch, and a restored one jumps far ahead") {
  temp_directory directory;
  { REQUIRE_FALSE(store(directory.path()).write({reserve_seq{500}, put_event{event(40, "audit")}})); }
  store second(directory.path());
  CHECK(second.recovered.epoch == 2);
  CHECK(second.recovered.next_seq == 500);
  CHECK(second.recovered.next_event == 41);
  second.log->close();
  store third(journal::options{.directory = directory.path(), .origin = store_origin::backup});
  CHECK(third.recovered.epoch == 2 + (std::uint64_t{1} << 20));
  CHECK(second.recovered.restored_below == 0);
  CHECK(third.recovered.restored_below == third.recovered.next_seq);
  CHECK(third.recovered.next_seq >= 500 + (std::uint64_t{1} << 32));
  CHECK(third.recovered.next_event > (std::uint64_t{1} << 32));
  third.log->close();
  store fourth(directory.path());
  CHECK(fourth.recovered.next_seq == third.recovered.next_seq);
  CHECK(fourth.recovered.restored_below == third.recovered.restored_below); // a crash right after it keeps the mark
}

TEST_CASE("the next number is above every row's even when nothing was reserved") {
  temp_directory directory;
  {
    REQUIRE_FALSE(store(directory.path())
                      .write({put_operation{operation(70, "a")}, put_cancel{cancel_of(target_everything{}, 90)}}));
  }
  CHECK(store(directory.path()).recovered.next_seq == 91);
}
