// The n-th open, read, truncate or shared map fails, for n = 1, 2, 3 … until no call fails any more: when a store is
// made and migrated, when it is opened and recovered, and while it is written. No row that was announced as stored is
// missing.
#include <catch2/catch.hpp>

#include "tests/storage/faulty_disk.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

constexpr std::uint64_t rows = 8;

std::vector<entry> batch_of(std::uint64_t n) {
  std::vector<entry> batch;
  for (std::uint64_t i = 0; i < rows; ++i) {
    auto record = operation(100 * n + i, "team/a");
    record.title = std::string(600, 't'); // a few pages
    batch.push_back(put_operation{std::move(record)});
  }
  return batch;
}

struct trial {
  disk_trouble trouble;
  disk_calls calls;
};
/// One failure anywhere; everything fails from one call on; one kind of call fails from then on.
const std::vector<trial> trials = {
    {disk_trouble::once, disk_calls::all},          {disk_trouble::full, disk_calls::all},
    {disk_trouble::broken, disk_calls::all},        {disk_trouble::broken, disk_calls::opens},
    {disk_trouble::broken, disk_calls::reads},      {disk_trouble::broken, disk_calls::truncates},
    {disk_trouble::broken, disk_calls::shared_maps}};

const char* name(disk_calls calls) {
  switch (calls) {
  case disk_calls::changes:
    return "write, sync or truncate";
  case disk_calls::opens:
    return "open";
  case disk_calls::reads:
    return "read";
  case disk_calls::truncates:
    return "truncate";
  case disk_calls::shared_maps:
    return "shared map";
  case disk_calls::all:
    return "call";
  }
  return "";
}

/// Every fault for people names the place and a remedy.
void check_fault(const fault& f, const std::string& directory) {
  INFO(f.code << ": " << f.detail);
  CHECK(f.code != "store_mismatch");
  CHECK_THAT(f.detail, Catch::Matchers::Contains(directory));
}

} // namespace

TEST_CASE("a store that cannot be made or migrated at any call is made by the next start") {
  const auto [what, calls] = GENERATE(from_range(trials));
  faulty_disk disk;
  bool reached = true;
  for (std::uint64_t nth = 1; reached; ++nth) {
    INFO("trouble " << static_cast<int>(what) << " at " << name(calls) << " " << nth);
    temp_directory directory("/dev/shm");
    disk.fail(what, nth, calls);
    auto opened = journal::open({.directory = directory.path()});
    if (!opened) check_fault(opened.error(), directory.path());
    if (opened) opened->reset();
    reached = disk.has_failed();
    disk.heal();
    {
      store s(directory.path());
      CHECK(s.recovered.epoch >= 1);
      CHECK(s.recovered.live.empty());
      CHECK_FALSE(s.write(batch_of(1)));
    }
    CHECK(store(directory.path()).recovered.live.size() == rows);
    CHECK(integrity(directory.path()) == "ok");
    REQUIRE(nth < 1000);
  }
}

TEST_CASE("a start whose n-th open, read or map fails is refused or complete, and never half") {
  const auto [what, calls] = GENERATE(from_range(trials));
  faulty_disk disk;
  temp_directory directory("/dev/shm");
  { REQUIRE_FALSE(store(directory.path()).write(batch_of(1))); }
  std::uint64_t epoch = 1;
  bool reached = true;
  for (std::uint64_t nth = 1; reached; ++nth) {
    INFO("trouble " << static_cast<int>(what) << " at " << name(calls) << " " << nth);
    disk.fail(what, nth, calls);
    auto opened = journal::open({.directory = directory.path()});
    if (!opened) check_fault(opened.error(), directory.path());
    if (opened) CHECK((*opened)->take_recovered().live.size() == rows);
    if (opened) opened->reset();
    reached = disk.has_failed();
    disk.heal();
    const store s(directory.path());
    CHECK(s.recovered.epoch > epoch);
    epoch = s.recovered.epoch;
    CHECK(s.recovered.live.size() == rows);
    REQUIRE(nth < 1000);
  }
  CHECK(integrity(directory.path()) == "ok");
}

TEST_CASE("a write whose n-th read, open, map or truncate fails is told the truth") {
  const auto [what, calls] = GENERATE(from_range(trials));
  constexpr std::uint64_t batches = 2;
  faulty_disk disk;
  bool reached = true;
  for (std::uint64_t nth = 1; reached; ++nth) {
    INFO("trouble " << static_cast<int>(what) << " at " << name(calls) << " " << nth);
    temp_directory directory("/dev/shm");
    std::vector<bool> accepted;
    {
      store s(directory.path());
      disk.fail(what, nth, calls);
      for (std::uint64_t n = 1; n <= batches; ++n) {
        const auto refused = s.write(batch_of(n));
        if (refused) check_fault(*refused, directory.path());
        accepted.push_back(!refused);
      }
      s.log->close(); // a checkpoint, and the WAL is truncated
      reached = disk.has_failed();
    }
    disk.heal();
    const store again(directory.path());
    for (std::uint64_t n = 1; n <= batches; ++n) {
      INFO("batch " << n);
      const auto found =
          std::stoull(ask(directory.path(), "SELECT count(*) FROM operation WHERE seq / 100 = " + std::to_string(n)));
      CHECK((found == 0 || found == rows));
      if (accepted[n - 1]) CHECK(found == rows);
    }
    CHECK(integrity(directory.path()) == "ok");
    REQUIRE(nth < 1000);
  }
}
