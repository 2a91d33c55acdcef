// The limits and secrets of one task.
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "worker/task_limits.hpp"
#include "worker/task_secrets.hpp"

using namespace quell;
using namespace quell::worker;

TEST_CASE("a task's limits lie within its worker's; what it asked for is required", "[limits]") {
  const task_limits most{1000, 100, 0};
  auto limits = limits_of({}, most);
  CHECK(limits.memory_bytes == 1000);
  CHECK(limits.pids == 100);
  CHECK(limits.cpu_millis == 0);
  CHECK_FALSE((limits.memory_required || limits.pids_required || limits.cpu_required));
  task_spec spec;
  spec.memory_bytes = 5000;
  spec.pids = 10;
  spec.cpu_millis = 1500;
  limits = limits_of(spec, most);
  CHECK(limits.memory_bytes == 1000);
  CHECK(limits.pids == 10);
  CHECK(limits.cpu_millis == 1500);
  CHECK((limits.memory_required && limits.pids_required && limits.cpu_required));
}

TEST_CASE("a secret's memory file is read from its beginning and cannot be changed", "[secrets]") {
  const auto files = memory_files({{"A", std::string("a\0b", 3)}, {"B", std::string(64 * 1024, 'b')}});
  REQUIRE(files);
  REQUIRE(files->size() == 2);
  const int fd = files->front().get();
  char bytes[8] = {};
  REQUIRE(::pread(fd, bytes, sizeof bytes, 0) == 3);
  CHECK(std::string(bytes, 3) == std::string("a\0b", 3));
  CHECK(::pwrite(fd, "x", 1, 0) < 0);
  CHECK(::ftruncate(fd, 0) < 0);
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(memory_files({})->empty());
}

TEST_CASE("a secret that the controller has lost is not an empty secret", "[secrets]") {
  const auto files = memory_files({{"A", "a"}, {"KEY", ""}});
  REQUIRE_FALSE(files);
  CHECK(files.error().detail.find("its secret KEY is lost") == 0);
}
