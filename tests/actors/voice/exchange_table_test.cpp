// What the table of exchanges tells about the standing of a speaker.
#include <catch2/catch.hpp>

#include "tests/actors/voice/session_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::voice;
using namespace quell::controller::voice::testing;

TEST_CASE("an answered exchange gives standing until it ends, and one of a refused stop is named as such", "[voice]") {
  session_world w;
  auto& table = *w.house->exchanges;
  speaker who;
  who.by = session_world::admin();
  who.scope = *scope_path::parse("talk/room");
  const auto words = table.begin(who, "s1", {}), stop = table.begin(who, "s2", {}), waits = table.begin(who, "s3", {});
  w.commit();
  table.answered(words);
  table.refused_stop(stop);
  table.answered(operation_id::fresh()); // has ended meanwhile
  const auto standing_order = [&] {
    turns::message_order order;
    table.tell_standing(order);
    return order;
  };
  CHECK(standing_order().answered == std::vector{words});
  CHECK(standing_order().refused_stops == std::vector{stop});
  table.answered(stop);
  CHECK(standing_order().answered.size() == 2); // that of the stop is named in both
  CHECK(standing_order().refused_stops == std::vector{stop});
  for (const auto& id : {words, stop, waits}) table.finish(id, true, {}, [] {});
  w.commit();
  CHECK(standing_order().answered.empty());
  CHECK(standing_order().refused_stops.empty());
}
