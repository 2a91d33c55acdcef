// Placement of pending tasks, and the reasons shown for those that wait.
#include <catch2/catch.hpp>

#include <set>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {
requirement on(std::map<std::string, std::string> labels, std::uint32_t slots = 1) {
  requirement r;
  r.on = std::move(labels);
  r.slots = slots;
  return r;
}
requirement only(std::string worker) {
  requirement r;
  r.worker = std::move(worker);
  return r;
}
} // namespace

TEST_CASE("tasks take turns on the worker with the most free slots") {
  fleet_world c;
  c.worker_joins("w1", 2);
  c.worker_joins("w2", 4);
  std::map<std::string, int> count;
  for (int i = 0; i < 6; ++i) ++count[c.where(c.placed(c.needs())).value()];
  CHECK(count["w1"] == 2);
  CHECK(count["w2"] == 4);
  CHECK_FALSE(c.where(c.placed(c.needs())));
}

TEST_CASE("with equal free slots the worker with the fewest live tasks is taken") {
  fleet_world c;
  c.worker_joins("w1", 2);
  c.worker_joins("w2", 2);
  CHECK(c.where(c.placed(c.needs(0))) == "w1");
  CHECK(c.where(c.placed(c.needs(0))) == "w2");
}

TEST_CASE("within a queue the first in is the first out") {
  fleet_world c;
  auto& w = c.worker_joins("w1", 1);
  std::vector<operation_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(c.placed(c.needs()));
  for (int i = 0; i < 5; ++i) {
    CHECK(c.where(ids[static_cast<std::size_t>(i)]) == "w1");
    c.ends(ids[static_cast<std::size_t>(i)]);
    c.place();
    c.acknowledges("w1");
  }
  const auto starts = w.all<wire::start>();
  REQUIRE(starts.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(starts[i].operation == ids[i]);
}

TEST_CASE("the first task of another author waits behind one of a long queue, not behind all of it") {
  fleet_world c;
  auto& w = c.worker_joins("w1", 1);
  std::vector<operation_id> flood;
  for (int i = 0; i < 10; ++i) flood.push_back(c.placed(c.needs()));
  auto another = c.needs();
  another.author_queue = 1;
  const auto late = c.placed(another);
  for (int i = 0; i < 3; ++i) {
    c.ends(w.all<wire::start>().back().operation);
    c.place();
    c.acknowledges("w1");
  }
  const auto starts = w.all<wire::start>();
  REQUIRE(starts.size() == 4);
  CHECK(starts[1].operation == flood[1]);
  CHECK(starts[2].operation == late);
  CHECK(starts[3].operation == flood[2]);
}

TEST_CASE("the first task of another guild waits behind one of a guild with 200 authors") {
  fleet_world c;
  auto& w = c.worker_joins("w1", 1);
  std::vector<operation_id> flood;
  const auto of = [&](std::uint16_t guild, int author) {
    auto need = c.needs();
    need.guild_queue = guild;
    need.author_queue = static_cast<std::uint8_t>(author % 64);
    return need;
  };
  for (int i = 0; i < 200; ++i) flood.push_back(c.placed(of(7, i)));
  std::vector<operation_id> late;
  for (int i = 0; i < 3; ++i) late.push_back(c.placed(of(8, i)));
  for (int i = 0; i < 6; ++i) {
    c.ends(w.all<wire::start>().back().operation);
    c.place();
    c.acknowledges("w1");
  }
  const auto starts = w.all<wire::start>();
  REQUIRE(starts.size() == 7);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(starts[2 * i + 1].operation == flood[i + 1]);
    CHECK(starts[2 * i + 2].operation == late[i]);
  }
}

TEST_CASE("a guild cannot take more slots by asking for workers of several kinds") {
  fleet_world c;
  auto& w = c.worker_joins("w1", 1, {{"a", "1"}, {"b", "1"}, {"c", "1"}});
  const auto of = [](std::uint16_t guild, std::map<std::string, std::string> labels) {
    auto need = on(std::move(labels));
    need.guild_queue = guild;
    return need;
  };
  std::set<operation_id> of_flood, of_other;
  for (int i = 0; i < 20; ++i)
    for (const char* kind : {"a", "b", "c"}) of_flood.insert(c.placed(of(7, {{kind, "1"}})));
  for (int i = 0; i < 10; ++i) of_other.insert(c.placed(of(8, {})));
  for (int i = 0; i < 20; ++i) {
    c.ends(w.all<wire::start>().back().operation);
    c.place();
    c.acknowledges("w1");
  }
  std::size_t others = 0;
  for (const auto& start : w.all<wire::start>()) others += of_other.count(start.operation);
  CHECK(others >= 8); // of 21: as good as every other one
}

TEST_CASE("stale tasks of a guild cost it no turns") {
  fleet_world c;
  auto& w = c.worker_joins("w1", 1);
  auto mine = c.needs(), others = c.needs();
  mine.guild_queue = 7;
  others.guild_queue = 8;
  c.placed(c.needs());
  for (int i = 0; i < 50; ++i) c.ledger.tasks.at(c.queued(mine)).pending = false;
  const auto late = c.queued(mine);
  std::vector<operation_id> more;
  for (int i = 0; i < 5; ++i) more.push_back(c.queued(others));
  for (int i = 0; i < 3; ++i) {
    c.ends(w.all<wire::start>().back().operation);
    c.place();
    c.acknowledges("w1");
  }
  const auto starts = w.all<wire::start>();
  CHECK(std::any_of(starts.begin(), starts.end(), [&](const auto& s) { return s.operation == late; }));
}

TEST_CASE("name, labels, containment and size of a worker must be right") {
  fleet_world c;
  c.enrolled("w1", {{"zone", "a"}});
  c.worker_joins("w1", 2, {{"os", "linux"}});
  c.worker_joins("w2", 8, {{"os", "linux"}, {"gpu", "1"}});
  CHECK(c.where(c.placed(only("w1"))) == "w1");
  CHECK(c.where(c.placed(on({{"zone", "a"}, {"os", "linux"}}))) == "w1");
  CHECK(c.where(c.placed(on({{"gpu", "1"}}))) == "w2");
  CHECK_FALSE(c.where(c.placed(on({{"gpu", "1"}, {"zone", "a"}}))));
  CHECK(c.where(c.placed(c.needs(4))) == "w2");
  requirement contained;
  contained.least = containment::cgroup;
  CHECK(c.where(c.placed(contained)) == "w2");
}

TEST_CASE("who waits is told why") {
  fleet_world c;
  const auto why = [&c](const requirement& need) {
    const auto id = c.placed(need);
    const auto& t = c.ledger.tasks.at(id);
    return t.what + ": " + t.detail;
  };
  CHECK(why(c.needs()) == "worker: no worker is enrolled");
  c.enrolled("w1");
  CHECK(why(on({{"a", "b"}})) == "worker: no worker has joined yet");
  CHECK(why(only("w1")) == "worker: worker w1 has not joined yet");
  c.worker_joins("w1", 2);
  CHECK(why(on({{"gpu", "1"}})) == "worker: no worker has gpu=1");
  CHECK(why(only("w9")) == "worker: no worker is called w9");
  CHECK(why(c.needs(3)) == "worker: no worker has 3 slots");
  auto both = only("w1");
  both.on = {{"gpu", "1"}};
  CHECK(why(both) == "worker: worker w1 does not have gpu=1");
  c.place();
  c.placed(c.needs());
  CHECK(why(c.needs()) == "slot: all slots of matching workers are taken");
  CHECK(why(c.needs(2)) == "slot: no matching worker has 2 free slots");
  c.silence(4s);
  CHECK(why(c.needs(2)) == "worker: no worker is connected");
  CHECK(why(only("w1")) == "worker: worker w1 is unreachable");
}

TEST_CASE("a waiting task is told once, and again when the reason has changed") {
  fleet_world c;
  const auto first = c.placed(c.needs());
  const auto second = c.placed(c.needs());
  for (int i = 0; i < 10; ++i) c.place();
  CHECK(c.ledger.tasks.at(first).noted == 1);
  CHECK(c.ledger.tasks.at(second).noted == 1);
  c.worker_joins("w1", 1);
  c.place();
  CHECK(c.where(first) == "w1");
  CHECK(c.ledger.tasks.at(second).noted == 2);
  CHECK(c.ledger.tasks.at(second).what == "slot");
}

TEST_CASE("a head that does not fit does not hold up other queues") {
  fleet_world c;
  c.worker_joins("w1", 2);
  CHECK_FALSE(c.where(c.placed(c.needs(3))));
  CHECK_FALSE(c.where(c.placed(on({{"gpu", "1"}}))));
  CHECK(c.where(c.placed(c.needs())) == "w1");
}

TEST_CASE("a large task is not starved by an endless stream of small ones") {
  fleet_world c;
  c.worker_joins("w1", 2);
  std::vector<operation_id> running{c.placed(c.needs()), c.placed(c.needs())};
  const auto large = c.placed(c.needs(2));
  int rounds = 0;
  for (; rounds < 1000 && !c.where(large); ++rounds) {
    c.queued(c.needs());
    c.ends(running.front());
    running.erase(running.begin());
    c.place();
    c.acknowledges("w1");
    for (const auto& [id, t] : c.ledger.tasks)
      if (t.live && t.worker && std::find(running.begin(), running.end(), id) == running.end()) running.push_back(id);
    if (running.empty()) break;
  }
  CHECK(c.where(large) == "w1");
  CHECK(rounds < 200);
  c.ends(large);
  c.place();
  CHECK(c.see("w1").slots_used == 2); // small tasks continue to be placed
}

TEST_CASE("nothing is placed on a worker that drains, is silent, has left or is being removed") {
  fleet_world c;
  c.worker_joins("w1", 8);
  c.placed(c.needs());
  SECTION("drains") { REQUIRE(c.f->drain("w1", "kernel update", {}, worker_tasks::go_on, c.now)); }
  SECTION("silent") { c.silence(3100ms); }
  SECTION("left") { c.says("w1", wire::farewell{}); }
  SECTION("being removed") { REQUIRE(c.f->remove("w1", worker_tasks::are_cancelled, c.now)); }
  SECTION("handed over") { c.f->hand_over(c.now); }
  c.settle();
  CHECK_FALSE(c.where(c.placed(c.needs())));
}

TEST_CASE("at most slots + 16 starts are on their way to one worker") {
  fleet_world c;
  c.worker_joins("w1", 2);
  c.far.at("w1").stuck = true;
  for (int i = 0; i < 40; ++i) c.queued(c.needs(0));
  c.place();
  CHECK(c.ledger.live_on("w1") == 18);
  c.far.at("w1").stuck = false;
  c.silence(1100ms); // sent again
  c.acknowledges("w1");
  c.place();
  CHECK(c.ledger.live_on("w1") == 36);
}

TEST_CASE("a call of place gives out at most 256 starts and says that there are more") {
  fleet_world c;
  c.worker_joins("w1", 1000);
  for (int i = 0; i < 600; ++i) c.queued(c.needs());
  CHECK(c.f->place(c.now));
  CHECK(c.ledger.live_on("w1") == 256);
  CHECK(c.f->place(c.now));
  CHECK_FALSE(c.f->place(c.now));
  CHECK(c.ledger.live_on("w1") == 600);
}

TEST_CASE("cancelled tasks in a queue cost nothing until they come to its head, and never start") {
  fleet_world c;
  c.worker_joins("w1", 1);
  const auto running = c.placed(c.needs());
  std::vector<operation_id> waiting;
  for (int i = 0; i < 100'000; ++i) waiting.push_back(c.queued(c.needs()));
  c.place();
  const auto last = c.queued(c.needs());
  const auto checks_before = c.ledger.placeable_checks;
  for (const auto& id : waiting) c.ledger.tasks.at(id).pending = false;
  for (int i = 0; i < 100; ++i) c.place(); // a hundred steps in which nothing changes
  CHECK(c.ledger.placeable_checks == checks_before);
  c.ends(running);
  c.place();
  CHECK(c.where(last) == "w1");
  CHECK(c.ledger.placeable_checks < checks_before + 300'000);
  for (const auto& id : waiting)
    if (c.where(id)) FAIL("a cancelled task was placed");
}

TEST_CASE("a queue does not keep what was cancelled for ever") {
  fleet_world c;
  roster nobody;
  placement p(nobody, c.ledger);
  const auto stays = c.ledger.add(c.needs(), id_of<operation_id>(1));
  p.enqueue(c.needs(), {stays});
  p.place(c.now, [](member&, wire::start) {});
  for (std::uint64_t i = 2; i < 50'000; ++i) {
    const auto id = c.ledger.add(c.needs(), id_of<operation_id>(i));
    p.enqueue(c.needs(), {id});
    c.ledger.tasks.at(id).pending = false;
  }
  CHECK(p.queued() < 2100);
}

TEST_CASE("tasks that come together wait in order, and are not looked at before their turn") {
  fleet_world c;
  std::vector<operation_id> ids;
  for (std::uint64_t i = 1; i <= 10'000; ++i) ids.push_back(c.ledger.add(c.needs(), id_of<operation_id>(i)));
  c.f->enqueue(c.needs(), ids);
  CHECK(c.ledger.placeable_checks == 0);
  c.worker_joins("w1", 2);
  c.place();
  CHECK(c.where(ids.at(0)) == "w1");
  CHECK(c.where(ids.at(1)) == "w1");
  CHECK_FALSE(c.where(ids.at(2)));
}

TEST_CASE("a queue that got many tasks at once does not keep for ever those that were cancelled") {
  fleet_world c;
  roster nobody;
  placement p(nobody, c.ledger);
  std::vector<operation_id> ids;
  for (std::uint64_t i = 1; i <= 10'000; ++i) ids.push_back(c.ledger.add(c.needs(), id_of<operation_id>(i)));
  p.enqueue(c.needs(), ids);
  for (const auto& id : ids) c.ledger.tasks.at(id).pending = false;
  for (std::uint64_t i = 10'001; i <= 30'000; ++i) {
    const auto id = c.ledger.add(c.needs(), id_of<operation_id>(i));
    p.enqueue(c.needs(), {id});
    c.ledger.tasks.at(id).pending = false;
  }
  CHECK(p.queued() < 2'100);
}

TEST_CASE("100,000 waiting tasks are told why within a few turns, and not once a turn") {
  fleet_world c;
  for (int i = 0; i < 100'000; ++i) {
    c.queued(c.needs());
    if (i % 1000 == 999) c.place();
  }
  c.place();
  for (const auto& [id, t] : c.ledger.tasks)
    if (t.noted != 1) FAIL("told " << t.noted << " times");
}

TEST_CASE("work that goes back to pending is placed again, behind those that wait") {
  fleet_world c;
  c.worker_joins("w1", 1);
  const auto a = c.placed(c.needs());
  const auto b = c.queued(c.needs());
  c.ledger.finish(a);
  c.ledger.tasks[a] = {c.needs(), {}, true, true, {}, {}, {}, 0};
  c.f->enqueue(c.needs(), {a});
  c.f->slots_freed("w1", 1, c.now);
  c.place();
  CHECK(c.where(b) == "w1");
  CHECK_FALSE(c.where(a));
}

TEST_CASE("a worker that shrinks or loses a label gets nothing that it cannot hold") {
  fleet_world c;
  c.worker_joins("w1", 4, {{"gpu", "1"}});
  c.placed(c.needs(3));
  c.says_hello("w1", c.hello_of("w1", 2));
  c.acknowledges("w1");
  CHECK_FALSE(c.where(c.placed(c.needs()))); // 3 of 2 slots are in use
  CHECK_FALSE(c.where(c.placed(on({{"gpu", "1"}}))));
}

TEST_CASE("the oldest living head is first, also when an older one of another queue was cancelled") {
  fleet_world c;
  const auto stale = c.queued(c.needs());
  requirement other = c.needs();
  other.worker = "w1";
  const auto second = c.queued(other);
  const auto third = c.queued(c.needs());
  c.ledger.tasks.at(stale).pending = false;
  c.worker_joins("w1", 1);
  c.place();
  CHECK(c.where(second) == "w1");
  CHECK_FALSE(c.where(third));
}
