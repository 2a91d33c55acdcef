// A full disk: a real small file system, mounted for one child process only.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/storage/child.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

/// Keeps the first failure; "" = none.
class findings {
 public:
  void expect(bool ok, const std::string& what) {
    if (!ok && first_.empty()) first_ = what;
  }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

/// Writes until no space is left.
void fill(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string block(4096, 'f');
  for (auto size = block.size(); size > 0; size /= 2)
    while (write(fd, block.data(), size) > 0) {
    }
  close(fd);
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// A batch of about `kilobytes`.
std::vector<entry> big_batch(std::uint64_t first_seq, int kilobytes) {
  std::vector<entry> batch;
  for (int i = 0; i < kilobytes / 64; ++i) {
    auto record = operation(first_seq + static_cast<std::uint64_t>(i), "team");
    record.task.env["BIG"] = std::string(64 << 10, 'x');
    batch.push_back(put_operation{std::move(record)});
  }
  return batch;
}

/// Runs `body` with a tmpfs of `mebibytes` in its own mount namespace; false if that is not permitted.
bool on_small_disk(int mebibytes, const std::function<std::string(const std::string&)>& body) {
  temp_directory mount_point;
  const auto child_output = in_child([&]() -> std::string {
    const auto size = "size=" + std::to_string(mebibytes) + "m";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", mount_point.path().c_str(), "tmpfs", 0, size.c_str()) != 0)
      return "skip";
    return body(mount_point.path());
  });
  if (child_output == "skip") {
    WARN("skipped: no right to mount a file system");
    return false;
  }
  CHECK(child_output == "");
  return true;
}

} // namespace

TEST_CASE("on a full disk cancels and ends are still written, large batches fail whole, and all is well when there is "
          "room again") {
  on_small_disk(16, [](const std::string& disk) {
    findings f;
    const auto state = disk + "/state";
    store s(state);
    const auto running = operation(1, "team/a");
    f.expect(!s.write({put_operation{running}}), "the first write fails");
    f.expect(!s.log->is_low(), "low from the start");
    f.expect(exists(state + "/ballast"), "no ballast was made");

    fill(disk + "/fill");
    std::uint64_t seq = 100, cancels = 0;
    for (; cancels < 200; ++cancels) {
      auto record = cancel_of(target_scope{scope("team/a")}, ++seq);
      const auto failed = s.write({put_cancel{record}, put_cutoff{{scope("team/a"), seq, record.id}}});
      f.expect(!failed, "a cancel is not written: " + (failed ? failed->detail : ""));
    }
    f.expect(s.log->is_low(), "a full disk is not said to be low");
    f.expect(!s.write({ended(running, ++seq, status::cancelled)}), "an end is not written");

    // A batch that is too large, and a small one beside it: they may share a transaction, but not the failure.
    const auto large = s.log->submit(big_batch(1'000, 12 << 10));
    const auto small = s.log->submit({put_cancel{cancel_of(target_everything{}, ++seq)}});
    f.expect(!s.log_notices.outcome(small), "a cancel fails with its neighbour");
    ++cancels;
    const auto failed = s.log_notices.outcome(large);
    f.expect(failed && failed->code == "disk_full",
             "12 MiB fit on a full disk: " + (failed ? failed->detail : "written"));
    f.expect(ask(state, "SELECT count(*) FROM operation") == "1", "a part of the failed batch is there");
    f.expect(!exists(state + "/ballast"), "the ballast was not given up");

    unlink((disk + "/fill").c_str());
    f.expect(!s.write({put_operation{operation(5'000, "team")}}), "a write fails although there is room");
    f.expect(!s.log->is_low(), "still low although there is room");
    f.expect(exists(state + "/ballast"), "the ballast was not made again");
    f.expect(!s.write(big_batch(2'000, 1 << 10)), "a batch of 1 MiB fails although there is room");
    f.expect(ask(state, "SELECT count(*) FROM cancel") == std::to_string(cancels), "a cancel is missing");
    f.expect(integrity(state) == "ok", integrity(state));
    return f.first();
  });
}

TEST_CASE("a store opens on a full disk, gives up its ballast for that, and says that it is low") {
  on_small_disk(16, [](const std::string& disk) {
    findings f;
    const auto state = disk + "/state";
    { f.expect(!store(state).write({put_operation{operation(1, "team/a")}}), "the first write fails"); }
    fill(disk + "/fill");
    {
      store s(state);
      f.expect(s.recovered.live.size() == 1, "the operation is missing");
      f.expect(s.recovered.epoch == 2, "the epoch was not raised");
      f.expect(s.log->is_low(), "a full disk is not said to be low");
      f.expect(!s.write({put_cancel{cancel_of(target_scope{scope("team")}, 2)}}), "a cancel is not written");
    }
    f.expect(integrity(state) == "ok", integrity(state));
    return f.first();
  });
}

TEST_CASE("a disk without room for a new store is told as full") {
  on_small_disk(1, [](const std::string& disk) {
    fill(disk + "/fill");
    findings f;
    auto opened = journal::open({.directory = disk + "/state"});
    f.expect(!opened, "it opened");
    if (!opened) f.expect(opened.error().code == "disk_full", opened.error().code + ": " + opened.error().detail);
    return f.first();
  });
}

TEST_CASE("writes that fail at any point leave no half batch") {
  // The disk has a little more room each time, so that the batch fails at another write each time, until it passes.
  on_small_disk(16, [](const std::string& disk) {
    findings f;
    const auto state = disk + "/state";
    store s(journal::options{.directory = state, .ballast_bytes = 0, .prepared_wal_bytes = 0});
    f.expect(!s.write({put_operation{operation(1, "team/a")}}), "the first write fails");
    fill(disk + "/fill");
    struct stat filled {};
    stat((disk + "/fill").c_str(), &filled);
    int failures = 0;
    for (off_t room = 0;; room += 4096) {
      if (truncate((disk + "/fill").c_str(), filled.st_size - room) != 0) return std::string("cannot make room");
      const auto failed = s.write(big_batch(100, 512));
      if (!failed) break;
      ++failures;
      f.expect(failed->code == "disk_full", failed->code + ": " + failed->detail);
      f.expect(ask(state, "SELECT count(*) FROM operation") == "1", "a part of the failed batch is there");
      fill(disk + "/fill"); // pages that SQLite took before it failed stay available to it
      stat((disk + "/fill").c_str(), &filled);
      if (failures > 500) return std::string("never passes");
    }
    f.expect(failures > 0, "it passed at once");
    f.expect(ask(state, "SELECT count(*) FROM operation") == "9", "the batch that passed is not whole");
    f.expect(integrity(state) == "ok", integrity(state));
    return f.first();
  });
}
