// The gate of a model: so many at once, so many a minute, and the tenants and scopes that wait for it take turns.
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "integrations/models/gate.hpp"
#include "integrations/models/model.hpp"

using namespace quell::integrations;
using namespace std::chrono_literals;

namespace {

model_settings limited(std::uint32_t concurrency, std::uint32_t rate) {
  model_settings settings;
  settings.name = "m";
  settings.concurrency = concurrency;
  settings.rate = rate;
  return settings;
}

const model_gate::time_point start{1000s};

} // namespace

TEST_CASE("a model without limits has no row") {
  model_gate gate;
  CHECK(gate.line_up(limited(0, 0), {"team/a"}, nullptr) == nullptr);
}

TEST_CASE("so many are inside at once, and the first in the row is next") {
  model_gate gate;
  int touched = 0;
  auto a = gate.line_up(limited(1, 0), {"team/a"}, nullptr);
  auto b = gate.line_up(limited(1, 0), {"team/a"}, [&] { ++touched; });
  auto c = gate.line_up(limited(1, 0), {"team/a"}, nullptr);
  CHECK(a->enter(start));
  CHECK(a->enter(start)); // still
  CHECK_FALSE(b->enter(start));
  CHECK(b->when() == model_gate::time_point::max());
  CHECK(c->ahead() == 1);
  const int before = touched;
  a.reset();
  CHECK(touched > before);
  CHECK_FALSE(c->enter(start)); // b was first
  CHECK(b->enter(start));
  CHECK(c->ahead() == 0);
}

TEST_CASE("one that gives up its place in the row makes room for those behind it") {
  model_gate gate;
  int touched = 0;
  auto a = gate.line_up(limited(1, 0), {"team/a"}, nullptr);
  auto b = gate.line_up(limited(1, 0), {"team/a"}, nullptr);
  auto c = gate.line_up(limited(1, 0), {"team/a"}, [&] { ++touched; });
  CHECK(a->enter(start));
  b.reset();
  CHECK(touched > 0);
  CHECK(c->ahead() == 0);
  CHECK_FALSE(c->enter(start)); // a is still inside
  a.reset();
  CHECK(c->enter(start));
}

TEST_CASE("so many begin in a minute, however fast they end") {
  model_gate gate;
  for (int i = 0; i < 3; ++i) CHECK(gate.line_up(limited(0, 3), {"team/a"}, nullptr)->enter(start + i * 1s));
  auto late = gate.line_up(limited(0, 3), {"team/a"}, nullptr);
  CHECK_FALSE(late->enter(start + 10s));
  CHECK(late->when() == start + 60s);
  CHECK(late->enter(start + 60s));
  auto next = gate.line_up(limited(0, 3), {"team/a"}, nullptr);
  CHECK_FALSE(next->enter(start + 60s));
  CHECK(next->when() == start + 61s);
}

TEST_CASE("models wait for their own kind alone") {
  model_gate gate;
  auto one = gate.line_up(limited(1, 0), {"team/a"}, nullptr);
  CHECK(one->enter(start));
  auto other = limited(1, 0);
  other.name = "other";
  CHECK(gate.line_up(other, {"team/a"}, nullptr)->enter(start));
}

namespace {

/// Requests that wait for one model: the first one that may enters.
struct waiting_world {
  model_gate gate;
  std::uint32_t concurrency = 1, rate = 0;
  std::vector<std::pair<std::string, std::unique_ptr<model_gate::place>>> waiting{};
  std::deque<std::unique_ptr<model_gate::place>> inside{};

  void ask(const std::string& scope, int times = 1, const std::string& tenant = {}) {
    for (int i = 0; i < times; ++i)
      waiting.emplace_back(scope, gate.line_up(limited(concurrency, rate), {scope, tenant}, nullptr));
  }
  /// The scope of the one that enters; "" if none may.
  std::string next(model_gate::time_point now = start) {
    for (auto& [scope, place] : waiting) {
      if (!place || !place->enter(now)) continue;
      inside.push_back(std::move(place));
      return scope;
    }
    return {};
  }
  void end_first() { inside.pop_front(); }
};

} // namespace

TEST_CASE("one guild floods the model, and another's call is next") {
  waiting_world world;
  world.ask("discord/flood/c1", 200);
  world.ask("discord/flood/c2", 200);
  REQUIRE(world.next() == "discord/flood/c1");
  for (int i = 0; i < 20; ++i) {
    world.end_first();
    REQUIRE_FALSE(world.next().empty());
  }
  world.ask("discord/small/c1", 2);
  CHECK(world.waiting.back().second->ahead() == 2); // its first, and one of the flood
  CHECK(world.next().empty());                      // somebody is inside
  world.end_first();
  CHECK(world.next() == "discord/small/c1");
  world.end_first();
  CHECK(world.next().starts_with("discord/flood/"));
  world.end_first();
  CHECK(world.next() == "discord/small/c1");
}

TEST_CASE("a rate is shared by turns, too") {
  waiting_world world{{}, 0, 4};
  world.ask("slack/T1/C", 100);
  for (int i = 0; i < 4; ++i) CHECK(world.next() == "slack/T1/C");
  world.ask("slack/T2/C", 2);
  CHECK(world.next(start + 30s).empty());
  std::map<std::string, int> next_minute;
  for (int i = 0; i < 4; ++i) ++next_minute[world.next(start + 60s)];
  CHECK(next_minute == std::map<std::string, int>{{"slack/T1/C", 2}, {"slack/T2/C", 2}});
}

TEST_CASE("a token that floods the model in a thousand scopes delays itself, and nobody else") {
  waiting_world world;
  for (int i = 0; i < 1'000; ++i) world.ask("t" + std::to_string(i) + "/g/c", 1, "loud");
  REQUIRE(world.next() == "t0/g/c");
  world.ask("discord/guild/c");
  world.ask("a/b/c", 2, "quiet");
  for (const std::string expected : {"discord/guild/c", "a/b/c", "t1/g/c", "a/b/c", "t2/g/c"}) {
    world.end_first();
    CHECK(world.next() == expected);
  }
}

TEST_CASE("a cancelled call of the flood takes no turn") {
  waiting_world world;
  world.ask("discord/flood/c", 3);
  REQUIRE(world.next() == "discord/flood/c");
  world.ask("discord/small/c");
  world.waiting[1].second.reset(); // cancelled in the row
  world.waiting[3].second.reset();
  world.end_first();
  CHECK(world.next() == "discord/flood/c");
  world.end_first();
  CHECK(world.next().empty());
}
