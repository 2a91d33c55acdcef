// The state in /proc of a process that was killed.
#include <catch2/catch.hpp>
#include <string>
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
