// Directories of a v1 hierarchy that one task uses after the other: what is lent, and what is not lent again.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/worker/guardian/guardian_ward.hpp"
#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/spare_directories.hpp"
#include "worker/guardian/system.hpp"

using namespace quell::worker;
using namespace quell::worker::test;

namespace {

/// A directory of its own in the v1 hierarchy of `controller`; without a descriptor if the machine has none.
struct own_hierarchy {
  explicit own_hierarchy(const std::string& controller)
      : parent(::open(("/sys/fs/cgroup/" + controller).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
        name("quell-test-" + fresh_mark()) {
    struct stat limit {};
    if (::fstatat(parent.get(), "cgroup.procs", &limit, 0) == 0 && ::mkdirat(parent.get(), name.c_str(), 0755) == 0)
      dir.reset(::openat(parent.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~own_hierarchy() {
    if (dir) remove_cgroup(parent.get(), name.c_str());
  }
  own_hierarchy(const own_hierarchy&) = delete;
  own_hierarchy& operator=(const own_hierarchy&) = delete;

  std::string text(const std::string& file) const { return read_small_file(dir.get(), file.c_str()); }
  bool has(const std::string& directory) const {
    struct stat is {};
    return ::fstatat(dir.get(), directory.c_str(), &is, 0) == 0;
  }

  unique_fd parent, dir;
  std::string name;
};

} // namespace

TEST_CASE("a spare directory is lent again with its limit, once it has no process", "[limits]") {
  const own_hierarchy pids("pids");
  if (!pids.dir) return; // v2 only: a task's own cgroup has the limits
  spare_directories spare("pids", "pids.max", "");
  int error = -1;
  const auto first = spare.take(pids.dir.get(), "100", error);
  CHECK(error == 0);
  REQUIRE(!first.empty());
  CHECK(pids.text(first + "/pids.max") == "100\n");
  const auto second = spare.take(pids.dir.get(), "100", error);
  CHECK(second != first);

  const pid_t child = ::fork();
  if (child == 0)
    while (true) ::pause();
  CHECK(write_small_file(pids.dir.get(), (first + "/cgroup.procs").c_str(), std::to_string(child)) == 0);
  CHECK_FALSE(spare.give_back(pids.dir.get(), first));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);

  CHECK(spare.give_back(pids.dir.get(), second));
  CHECK(spare.take(pids.dir.get(), "100", error) == second);
}

TEST_CASE("another default limit makes other spare directories", "[limits]") {
  const own_hierarchy pids("pids");
  if (!pids.dir) return;
  spare_directories spare("pids", "pids.max", "");
  int error = -1;
  const auto running = spare.take(pids.dir.get(), "100", error);
  const auto ended = spare.take(pids.dir.get(), "100", error);
  CHECK(spare.give_back(pids.dir.get(), ended));
  const auto fresh = spare.take(pids.dir.get(), "50", error);
  CHECK(pids.text(fresh + "/pids.max") == "50\n");
  CHECK_FALSE(pids.has(ended));
  CHECK_FALSE(spare.give_back(pids.dir.get(), running)); // its limit is the old one
  CHECK(pids.has(running));                              // the caller removes it
  CHECK(spare.give_back(pids.dir.get(), fresh));
}

TEST_CASE("a limit that the kernel refuses leaves no directory", "[limits]") {
  const own_hierarchy pids("pids");
  if (!pids.dir) return;
  spare_directories spare("pids", "pids.max", "");
  int error = 0;
  CHECK(spare.take(pids.dir.get(), "many", error).empty());
  CHECK(error != 0);
  CHECK_FALSE(pids.has("pids-0"));
}

TEST_CASE("a directory to which much memory is still charged is not lent again", "[limits]") {
  const own_hierarchy memory("memory");
  if (!memory.dir) return;
  int error = 0;
  // The file that is read here holds the limit itself, as if everything were in use.
  spare_directories full("memory", "memory.limit_in_bytes", "memory.limit_in_bytes");
  const auto used = full.take(memory.dir.get(), "67108864", error);
  REQUIRE(error == 0);
  CHECK_FALSE(full.give_back(memory.dir.get(), used));
  ::unlinkat(memory.dir.get(), used.c_str(), AT_REMOVEDIR);

  spare_directories spare("memory", "memory.limit_in_bytes", "memory.usage_in_bytes");
  const auto unused = spare.take(memory.dir.get(), "67108864", error);
  REQUIRE(error == 0);
  CHECK(spare.give_back(memory.dir.get(), unused));
}
