// The table of exchanges: the standing of a speaker, and the cancel of an exchange that lost its turn.
#include <algorithm>

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

TEST_CASE("an exchange whose turn was cancelled is cancelled with it, and told once", "[voice]") {
  const bool has_ended = GENERATE(false, true);
  session_world w;
  auto& table = *w.house->exchanges;
  speaker who;
  who.by = session_world::admin();
  who.scope = *scope_path::parse("talk/room");
  int stops = 0;
  const auto id = table.begin(who, "s1", {[&stops] { ++stops; }, {}});
  w.commit();
  if (has_ended) {
    table.finish(id, true, {}, [] {});
    w.commit();
  }
  std::vector<bool> taken;
  table.cancel_unanswered(id, [&taken](bool was_taken) { taken.push_back(was_taken); });
  table.cancel_unanswered(operation_id::fresh(), [&taken](bool was_taken) { taken.push_back(was_taken); });
  w.commit();
  CHECK(std::count(taken.begin(), taken.end(), false) == 1); // the one that is not in the ledger
  CHECK(stops == (has_ended ? 0 : 1));
  CHECK(w.edges.ends.at(id) == (has_ended ? status::completed : status::cancelled));
}
