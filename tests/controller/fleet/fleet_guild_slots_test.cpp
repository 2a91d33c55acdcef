// A limit on the slots that one guild holds: its other tasks rest, and keep nobody else waiting.
#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <vector>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

requirement of_guild(std::uint16_t guild, std::uint8_t author = 0, std::uint32_t slots = 1) {
  requirement need;
  need.guild_queue = guild;
  need.author_queue = author;
  need.slots = slots;
  return need;
}

const std::string no_room = "its guild, or the token that started it, holds as many slots as it may "
                            "(limits.slots_per_guild, or slots of its [[place]])";

} // namespace

TEST_CASE("a guild holds no more slots than it may, for however long, and another one gets the rest") {
  fleet_world c;
  c.ledger.most_per_guild = 2;
  c.worker_joins("w1", 4);
  std::vector<operation_id> loud, quiet;
  for (std::uint8_t i = 0; i < 6; ++i) loud.push_back(c.placed(of_guild(7, i % 2)));
  CHECK(c.ledger.held[7] == 2);
  CHECK(c.ledger.tasks.at(loud[2]).what == "slot");
  CHECK(c.ledger.tasks.at(loud[2]).detail == no_room);
  for (int i = 0; i < 3; ++i) quiet.push_back(c.placed(of_guild(8)));
  CHECK(c.where(quiet[0]) == "w1");
  CHECK(c.where(quiet[1]) == "w1");
  CHECK_FALSE(c.where(quiet[2]));
  c.ends(loud[0]);
  c.place();
  c.acknowledges("w1");
  CHECK(c.ledger.held[7] == 2);
  CHECK(c.ledger.held[8] == 2);
  c.ends(quiet[0]);
  c.place();
  CHECK(c.where(quiet[2]) == "w1");
}

TEST_CASE("who rests is told so once, and of other reasons when they come") {
  fleet_world c;
  c.ledger.most_per_guild = 1;
  c.worker_joins("w1", 2);
  const auto first = c.placed(of_guild(7)), second = c.placed(of_guild(7));
  for (int i = 0; i < 10; ++i) c.place();
  CHECK(c.ledger.tasks.at(second).noted == 1);
  CHECK(c.ledger.tasks.at(second).detail == no_room);
  const auto third = c.placed(of_guild(7));
  CHECK(c.ledger.tasks.at(third).detail == no_room);
  c.placed(of_guild(8));
  c.placed(of_guild(9)); // finds no slot
  c.ledger.most_per_guild = 0;
  c.ledger.held[7] -= 1; // as if somebody else had given it back
  ++c.ledger.room;
  c.place();
  CHECK(c.ledger.tasks.at(third).detail == "all slots of matching workers are taken");
  CHECK(c.where(first) == "w1");
}

TEST_CASE("a task that is larger than the limit of its guild runs alone") {
  fleet_world c;
  c.ledger.most_per_guild = 2;
  c.worker_joins("w1", 8);
  const auto large = c.placed(of_guild(7, 0, 4)), other = c.placed(of_guild(7, 1));
  CHECK(c.where(large) == "w1");
  CHECK_FALSE(c.where(other));
  const auto none = c.placed(of_guild(7, 2, 0));
  CHECK(c.where(none) == "w1"); // it takes no slot
  c.ends(large);
  c.place();
  CHECK(c.where(other) == "w1");
}

TEST_CASE("tasks that are cancelled while they rest leave nothing behind") {
  fleet_world c;
  c.ledger.most_per_guild = 1;
  c.worker_joins("w1", 4);
  const auto first = c.placed(of_guild(7));
  std::vector<operation_id> resting;
  for (int i = 0; i < 100; ++i) resting.push_back(c.placed(of_guild(7, static_cast<std::uint8_t>(i % 5))));
  for (const auto& id : resting) c.ledger.tasks.at(id).pending = false;
  const auto last = c.placed(of_guild(7, 9));
  CHECK_FALSE(c.where(last));
  c.ends(first);
  c.place();
  CHECK(c.where(last) == "w1");
}

TEST_CASE("all people of a guild without room rest at once, and wake together") {
  fleet_world c;
  c.ledger.most_per_guild = 1;
  c.worker_joins("w1", 4);
  const auto first = c.placed(of_guild(7));
  std::vector<operation_id> resting;
  for (std::uint8_t author = 0; author < 50; ++author) resting.push_back(c.queued(of_guild(7, author)));
  c.place();
  for (const auto& id : resting) CHECK(c.ledger.tasks.at(id).detail == no_room);
  const auto other = c.placed(of_guild(8));
  CHECK(c.where(other) == "w1");
  c.ends(first);
  c.place();
  std::size_t running = 0;
  for (const auto& id : resting) running += c.where(id) ? 1 : 0;
  CHECK(running == 1);
}

TEST_CASE("whatever comes and ends, no slot stays free for a guild with room, and no guild holds too many") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    fleet_world c;
    c.ledger.most_per_guild = 1 + below(4);
    c.worker_joins("w1", 1 + below(6));
    c.worker_joins("w2", 1 + below(3), {{"gpu", "1"}});
    for (int step = 0; step < 300; ++step) {
      const auto what = below(10);
      if (what < 5) {
        auto need = of_guild(static_cast<std::uint16_t>(below(5)), static_cast<std::uint8_t>(below(3)));
        if (below(4) == 0) need.on = {{"gpu", "1"}};
        c.queued(need);
      } else if (what < 9) {
        std::vector<operation_id> running;
        for (const auto& [id, t] : c.ledger.tasks)
          if (t.live && t.worker) running.push_back(id);
        if (!running.empty()) c.ends(running[below(static_cast<unsigned>(running.size()))]);
      } else {
        std::vector<operation_id> waiting;
        for (const auto& [id, t] : c.ledger.tasks)
          if (t.pending) waiting.push_back(id);
        if (!waiting.empty()) {
          auto& t = c.ledger.tasks.at(waiting[below(static_cast<unsigned>(waiting.size()))]);
          t.pending = t.live = false;
        }
      }
      for (int i = 0; i < 4; ++i) c.place();
      c.acknowledges("w1");
      c.acknowledges("w2");
      c.place();
      INFO("seed " << seed << ", step " << step);
      for (const auto& [guild, held] : c.ledger.held) REQUIRE(held <= c.ledger.most_per_guild);
      for (const auto& [id, t] : c.ledger.tasks) {
        if (!t.pending || !c.ledger.may_take_slots(id)) continue;
        CHECK(c.see("w2").slots_used == c.see("w2").record.slots);
        if (t.need.on.empty()) CHECK(c.see("w1").slots_used == c.see("w1").record.slots);
      }
    }
  }
}

TEST_CASE("when guilds change their lines everybody waits on in the new ones, in order, and without what is over") {
  fleet_world c;
  c.ledger.most_per_guild = 1;
  c.worker_joins("w1", 1);
  const auto running = c.placed(of_guild(7));
  std::vector<operation_id> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(c.placed(of_guild(7))); // they rest
  const auto large = c.placed(of_guild(9, 0, 2));                       // fits nowhere
  for (int i = 1; i < 4; i += 2) c.ledger.tasks.at(waiting[i]).need.guild_queue = 8;
  c.ledger.tasks.at(waiting[2]).pending = false;
  ++c.ledger.moves;
  c.place();
  CHECK(c.ledger.tasks.at(waiting[1]).detail == "all slots of matching workers are taken");
  CHECK(c.ledger.tasks.at(waiting[0]).detail == no_room);
  c.ends(running);
  std::vector<operation_id> order;
  for (int i = 0; i < 3; ++i) {
    c.place();
    for (const auto& id : waiting)
      if (c.where(id) && c.ledger.tasks.at(id).live) {
        order.push_back(id);
        c.ends(id);
        break;
      }
    c.acknowledges("w1");
  }
  // The other line's first task was the next one when the slot became free.
  CHECK(order == std::vector<operation_id>{waiting[1], waiting[0], waiting[3]});
  CHECK_FALSE(c.where(large));
}
