// The n-th write or sync fails, for n = 1, 2, 3 … until the run passes. Each time: no batch is partly on disk, and
// every notice is true.
#include <catch2/catch.hpp>

#include "tests/storage/faulty_disk.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

constexpr std::uint64_t batches = 6, rows = 20;

/// Batch n: `rows` operations with seqs from 100 n on, large enough for several pages.
std::vector<entry> batch_of(std::uint64_t n) {
  std::vector<entry> batch;
  for (std::uint64_t i = 0; i < rows; ++i) {
    auto record = operation(100 * n + i, "team/a");
    record.title = std::string(400, 't');
    batch.push_back(put_operation{std::move(record)});
  }
  return batch;
}

std::uint64_t rows_of(const std::string& directory, std::uint64_t n) {
  return std::stoull(ask(directory, "SELECT count(*) FROM operation WHERE seq / 100 = " + std::to_string(n)));
}

/// Writes the batches, one commit each; returns which of them were announced as stored.
std::vector<bool> write_all(store& s) {
  std::vector<bool> written;
  for (std::uint64_t n = 1; n <= batches; ++n) written.push_back(!s.write(batch_of(n)));
  return written;
}

} // namespace

TEST_CASE("a write that finds no room once costs at most the second try, never a batch") {
  faulty_disk disk;
  bool reached = true;
  for (std::uint64_t nth = 1; reached; ++nth) {
    INFO("write " << nth << " finds no room");
    temp_directory directory("/dev/shm");
    {
      store s(directory.path());
      disk.fail(disk_trouble::full, nth);
      CHECK(write_all(s) == std::vector<bool>(batches, true));
      reached = disk.has_failed();
      disk.heal();
    }
    CHECK(store(directory.path()).recovered.live.size() == batches * rows);
    CHECK(integrity(directory.path()) == "ok");
    REQUIRE(nth < 500);
  }
}

TEST_CASE("after an error of the disk nothing is written until the next start, which finds whole batches only") {
  faulty_disk disk;
  bool reached = true;
  for (std::uint64_t nth = 1; reached; ++nth) {
    INFO("everything fails from write " << nth << " on");
    temp_directory directory("/dev/shm");
    std::vector<bool> written;
    {
      store s(directory.path());
      disk.fail(disk_trouble::broken, nth);
      written = write_all(s);
      reached = disk.has_failed();
      disk.heal();
      if (std::count(written.begin(), written.end(), false) > 0) {
        const auto refused = s.write({reserve_seq{9'999}});
        REQUIRE(refused); // the disk works again, but only a restart can tell the true state
        CHECK(refused->code != "store_mismatch");
      }
    }
    bool before = true;
    const store again(directory.path());
    for (std::uint64_t n = 1; n <= batches; ++n) {
      INFO("batch " << n);
      const auto found = rows_of(directory.path(), n);
      CHECK((found == 0 || found == rows));
      if (written[n - 1]) CHECK(found == rows);
      CHECK((before || !written[n - 1])); // after a failure no later batch is announced as stored
      before = written[n - 1];
    }
    CHECK(again.recovered.next_seq != 9'999);
    CHECK(integrity(directory.path()) == "ok");
    REQUIRE(nth < 500);
  }
}

TEST_CASE("a start that fails at any write can be repeated, and loses nothing") {
  faulty_disk disk;
  bool reached = true;
  temp_directory directory("/dev/shm");
  { REQUIRE_FALSE(store(directory.path()).write(batch_of(1))); }
  std::uint64_t epoch = 1;
  for (std::uint64_t nth = 1; reached; ++nth) {
    INFO("everything fails from write " << nth << " on");
    disk.fail(disk_trouble::broken, nth);
    auto opened = journal::open({.directory = directory.path()});
    reached = disk.has_failed();
    if (!opened) CHECK((opened.error().code == "disk_full" || opened.error().code == "disk_error"));
    if (opened) opened->reset();
    disk.heal();
    store s(directory.path());
    CHECK(s.recovered.epoch > epoch); // an epoch may be skipped, never used twice
    epoch = s.recovered.epoch;
    CHECK(s.recovered.live.size() == rows);
    REQUIRE(nth < 200);
  }
}
