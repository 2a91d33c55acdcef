// How many people talk in a scope: what nobody's hello can lower.
#include <catch2/catch.hpp>

#include "actors/voice/presence.hpp"

using namespace quell;
using quell::controller::voice::presence;

TEST_CASE("people are counted by author, at and below a scope, while they talk", "[voice]") {
  const auto here = *scope_path::parse("team/room"), below = *scope_path::parse("team/room/left"),
             other = *scope_path::parse("team/rooms"), team = *scope_path::parse("team");
  presence all;
  CHECK(all.people_in(here) == 0);
  all.enter(here, "mia");
  const auto second_device = all.enter(here, "mia");
  CHECK(all.people_in(here) == 1);
  const auto rob = all.enter(below, "rob");
  all.enter(other, "eve");
  CHECK(all.people_in(here) == 2);
  CHECK(all.people_in(below) == 1);
  CHECK(all.people_in(team) == 3);
  all.leave(second_device);
  CHECK(all.people_in(here) == 2);
  all.leave(rob);
  CHECK(all.people_in(here) == 1);
}
