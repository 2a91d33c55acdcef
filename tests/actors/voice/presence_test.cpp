// How many people talk in a scope: what nobody's hello can lower.
#include <catch2/catch.hpp>

#include "actors/voice/presence.hpp"

using namespace quell;
using quell::controller::voice::presence;

TEST_CASE("people are counted by author, at and below a scope, while they talk", "[voice]") {
  const auto desk = *scope_path::parse("team/desk"), below = *scope_path::parse("team/desk/left"),
             other = *scope_path::parse("team/desks"), team = *scope_path::parse("team");
  presence all;
  CHECK(all.people_in(desk) == 0);
  all.enter(desk, "mia");
  const auto second_device = all.enter(desk, "mia");
  CHECK(all.people_in(desk) == 1);
  const auto rob = all.enter(below, "rob");
  all.enter(other, "eve");
  CHECK(all.people_in(desk) == 2);
  CHECK(all.people_in(below) == 1);
  CHECK(all.people_in(team) == 3);
  all.leave(second_device);
  CHECK(all.people_in(desk) == 2);
  all.leave(rob);
  CHECK(all.people_in(desk) == 1);
}
