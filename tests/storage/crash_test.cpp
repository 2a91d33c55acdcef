// kill -9 of a process that writes as fast as it can: every batch that was announced as stored is on disk, and none is
// partly there.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

constexpr std::uint64_t rows_per_batch = 3;

template <class Id = operation_id>
Id id_of(std::uint64_t seq) {
  Id id;
  id.bytes[6] = 0x70;
  for (int i = 0; i < 8; ++i) id.bytes[static_cast<std::size_t>(15 - i)] = static_cast<std::uint8_t>(seq >> (8 * i));
  return id;
}

/// Batch n: three operations, an event, an answer with two calls, the end of the first operation of batch n - 1, the
/// results of that batch's calls, and each of these a second time.
std::vector<entry> batch_of(std::uint64_t n) {
  std::vector<entry> batch;
  const auto first = 1 + n * 10;
  for (std::uint64_t i = 0; i < rows_per_batch; ++i) {
    auto record = operation(first + i, "team/a");
    record.id = record.root = id_of(record.seq);
    batch.push_back(put_operation{std::move(record)});
  }
  batch.push_back(put_event{event(n + 1, "operation_created")});
  for (const std::uint64_t i : {6, 7}) {
    auto stored = message(first + i, "team/a", i == 6 ? message_role::assistant : message_role::tool);
    stored.id = id_of<message_id>(stored.seq);
    for (std::uint32_t position = 0; position < 2 && i == 6; ++position) {
      batch.push_back(put_call{call(stored, position)});
      std::get<put_call>(batch.back()).record.operation = id_of(first + position);
    }
    batch.push_back(put_message{std::move(stored)});
  }
  if (n > 0) {
    operation_hot hot;
    hot.now = status::completed;
    hot.ended_seq = first + 5;
    batch.push_back(update_operation{id_of(first - 10), hot});
    for (const auto* result : {"\"first\"", "\"second\""})
      for (const std::uint64_t position : {0, 1})
        batch.push_back(put_call_result{id_of(first - 10 + position), {true, false, result}});
  }
  return batch;
}

/// Never returns. Writes 8 bytes to `out` for each notice: the number of batches on disk.
[[noreturn]] void write_for_ever(const std::string& directory, std::uint64_t next, int out) {
  auto log = journal::open({.directory = directory});
  if (!log) _exit(3);
  std::mutex mutex;
  std::condition_variable room;
  std::uint64_t committed = 0;
  const auto start = next;
  (*log)->on_commit([&](const journal::commit_notice& notice) {
    if (notice.failure) _exit(4);
    const std::uint64_t batches = start + notice.ticket;
    if (write(out, &batches, sizeof batches) != sizeof batches) _exit(5);
    const std::lock_guard guard(mutex);
    committed = notice.ticket;
    room.notify_one();
  });
  while (true) {
    const auto ticket = (*log)->submit(batch_of(next++));
    std::unique_lock guard(mutex);
    room.wait(guard, [&] { return ticket < committed + 12; });
  }
}

} // namespace

TEST_CASE(
    "after kill -9 at any instant everything that was told as committed is there, in whole batches and in order") {
  temp_directory directory;
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  INFO("seed " << seed);
  std::uint64_t batches = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const auto child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      close(ends[0]);
      write_for_ever(directory.path(), batches, ends[1]);
    }
    close(ends[1]);
    std::uint64_t confirmed = batches;
    const auto stop_after = std::uniform_int_distribution<std::uint64_t>(0, 120)(random);
    std::uint64_t received = 0;
    bool killed = false;
    for (std::uint64_t value = 0;; ++received) {
      if (!killed && received == stop_after) {
        REQUIRE(kill(child, SIGKILL) == 0);
        killed = true;
      }
      if (read(ends[0], &value, sizeof value) != sizeof value) break;
      confirmed = value;
    }
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(killed);
    REQUIRE(WIFSIGNALED(status));

    store s(directory.path());
    std::vector<std::uint64_t> expected;
    const auto found = std::stoull(ask(directory.path(), "SELECT coalesce(max(id), 0) FROM event"));
    INFO("round " << round << ": " << confirmed << " batches told, " << found << " found");
    REQUIRE(found >= confirmed);
    for (std::uint64_t n = 0; n < found; ++n)
      for (std::uint64_t i = n + 1 < found ? 1 : 0; i < rows_per_batch; ++i) expected.push_back(1 + n * 10 + i);
    CHECK(seqs(s.recovered.live) == expected);
    CHECK(std::stoull(ask(directory.path(), "SELECT count(*) FROM operation")) == found * rows_per_batch);
    CHECK(std::stoull(ask(directory.path(), "SELECT count(*) FROM message")) == found * 2);
    CHECK(std::stoull(ask(directory.path(), "SELECT count(*) FROM call")) == found * 2);
    const auto settled = found > 0 ? (found - 1) * 2 : 0;
    CHECK(std::stoull(ask(directory.path(), "SELECT count(*) FROM call WHERE result = '\"first\"'")) == settled);
    CHECK(std::stoull(ask(directory.path(), "SELECT count(*) FROM call WHERE result IS NOT NULL")) == settled);
    if (found > 0) CHECK(s.recovered.next_seq > (found - 1) * 10 + rows_per_batch + 4);
    CHECK(integrity(directory.path()) == "ok");
    batches = found;
  }
  CHECK(batches > 0);
}
