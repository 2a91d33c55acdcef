// The state in /proc of a process that was killed.
#include <catch2/catch.hpp>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/guardian/processes.hpp"

using namespace quell;
using namespace quell::worker;

TEST_CASE("a killed process is stuck in the kernel when it sleeps there, not when it is exiting", "[processes]") {
  constexpr unsigned forked = 0x40, exiting = 0x4;
  CHECK(why_not_ended({.state = 'D', .flags = forked}, true) == unproven_why::stuck_in_kernel);
  // It is releasing its memory and files.
  CHECK(why_not_ended({.state = 'D', .flags = forked | exiting}, true) == unproven_why::kill_in_flight);
  for (const char state : {'R', 'S', 'T', 'Z', 'X', '\0'})
    CHECK(why_not_ended({.state = state, .flags = forked}, true) == unproven_why::kill_in_flight);
  for (const char state : {'D', 'S'})
    CHECK(why_not_ended({.state = state, .flags = forked}, false) == unproven_why::no_permission);
}

TEST_CASE("the fields of a process are read behind its name, whatever the name is", "[processes]") {
  const auto line = [](const std::string& name, const std::string& threads = "3") {
    return "42 (" + name + ") S 7 42 42 0 -1 4194368 120 0 0 0 1 2 0 0 20 0 " + threads + " 0 5123 4096 99\n";
  };
  for (const std::string name : {"true", "a b", ") R 1 (", "((", "1) 2) 3"}) {
    const auto found = parse_stat(line(name));
    CHECK(found.state == 'S');
    CHECK(found.parent == 7);
    CHECK(found.flags == 0x400040);
    CHECK(found.threads == 3);
  }
  for (const std::string& broken : {std::string(), std::string("42 (true"), std::string("42 (true) S 7 42"),
                                    line("true", "x"), line("true", ""), std::string("42 (true) SS 7 42 42 0 -1 4 1")})
    CHECK(parse_stat(broken).state == 0);
}

TEST_CASE("a process's own fields are those that it knows itself", "[processes]") {
  const auto self = stat_of(::getpid());
  CHECK(self.state == 'R');
  CHECK(self.parent == ::getppid());
  CHECK(self.threads >= 1);
  CHECK(stat_of(0x7fffffff).state == 0);
}

TEST_CASE("a process that an exec has not yet let go is neither executed nor lost before its exec", "[processes]") {
  constexpr unsigned forked = 0x40, exiting = 0x4, other = 0x400000;
  using enum exec_progress;
  CHECK(exec_progress_of({.state = 'R', .flags = other}) == executed);
  CHECK(exec_progress_of({.state = 'Z', .flags = other | exiting}) == executed);
  CHECK(exec_progress_of({}) == executed);
  for (const char state : {'R', 'S', 'D'}) {
    CHECK(exec_progress_of({.state = state, .flags = forked | other}) == under_way);
    CHECK(exec_progress_of({.state = state, .flags = forked | exiting}) == never);
  }
  CHECK(exec_progress_of({.state = 'Z', .flags = forked}) == never);

  static int looks = 0;
  const auto looks_until = [](bool is_never) {
    static bool as_never = false;
    looks = 0;
    as_never = is_never;
    return never_executed(1, [](pid_t) -> process_stat {
      if (++looks < 3) return {.state = 'R', .flags = forked};
      return {.state = 'R', .flags = as_never ? forked | exiting : 0};
    });
  };
  CHECK_FALSE(looks_until(false));
  CHECK(looks == 3);
  CHECK(looks_until(true));
  CHECK(looks == 3);
}

TEST_CASE("a process killed before its exec never executed, and one that executed did", "[processes]") {
  for (const bool executes : {false, true}) {
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0); // a kill of -1 would reach every process
    if (pid == 0) {
      if (executes) ::execl("/bin/sleep", "sleep", "1000", nullptr);
      if (executes) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char end = 0;
    if (executes) CHECK(::read(ready[0], &end, 1) == 0); // the exec closes it
    ::close(ready[0]);
    ::kill(pid, SIGKILL);
    CHECK(never_executed(pid) != executes);
    ::waitpid(pid, nullptr, 0);
  }
}
