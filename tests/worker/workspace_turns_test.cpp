// The work of the workspaces' thread: no kind of it holds up another one.
#include "worker/workspace_turns.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "worker/guild_bytes.hpp"

using namespace quell::worker;
using namespace std::chrono_literals;

namespace {

using kind = workspace_turns::turn::kind;
const workspace_turns::time start{1h};

} // namespace

TEST_CASE("a sweep that is due gets its turn although a workspace is to be measured all the time", "[workspaces]") {
  workspace_turns turns;
  turns.sweep_at(start + 1s);
  int measured = 0;
  for (auto now = start; now < start + 1s; now += 100ms, ++measured) {
    turns.measure_soon("busy");
    REQUIRE(turns.next(now).what == kind::measure);
  }
  turns.measure_soon("busy");
  turns.look_at("watched", start);
  std::vector<kind> found;
  for (int i = 0; i < 3; ++i) {
    turns.measure_soon("busy");
    found.push_back(turns.next(start + 1s).what);
  }
  CHECK(std::count(found.begin(), found.end(), kind::sweep) == 1);
  CHECK(measured == 10);
}

TEST_CASE("workspaces whose tasks end, and those in which tasks run, take turns", "[workspaces]") {
  workspace_turns turns;
  const auto next = [&] {
    turns.measure_soon("busy");
    turns.measure_soon("busy too");
    return turns.next(start).name;
  };
  turns.look_at("watched", start - 1s);
  turns.look_at("watched longer", start - 2s);
  turns.look_at("not yet", start + 1s);
  turns.measure_soon("once");
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) names.push_back(next());
  CHECK(std::count(names.begin(), names.end(), "once") == 1);
  CHECK(std::count(names.begin(), names.begin() + 4, "watched longer") == 1);
  CHECK(std::count(names.begin(), names.begin() + 4, "watched") == 1);
  CHECK(std::count(names.begin(), names.end(), "not yet") == 0);
  CHECK(std::count(names.begin(), names.end(), "busy too") >= 1);
}

TEST_CASE("a task that ends during a sweep has another one, and sweeps rest between", "[workspaces]") {
  workspace_turns turns;
  turns.sweep_at(start);
  REQUIRE(turns.next(start).what == kind::sweep);
  turns.sweep_at(start + 1s); // a task ended meanwhile
  turns.swept(start, start + 2s, start + 600s);
  const auto wait = turns.next(start + 2s);
  CHECK(wait.what == kind::wait);
  CHECK(wait.until == start + 2s + 20 * 2s); // it took long
  for (auto now = start + 2s; now < *wait.until; now += 1s) {
    turns.sweep_at(now);
    REQUIRE(turns.next(now).what == kind::wait);
  }
  REQUIRE(turns.next(*wait.until).what == kind::sweep);
  turns.swept(*wait.until, *wait.until, *wait.until + 600s);
  CHECK(turns.next(*wait.until).until == *wait.until + 600s);
}

TEST_CASE("whatever is to be done, it is what is due, and waiting ends when the next thing is", "[workspaces]") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    workspace_turns turns;
    std::set<std::string> ended;
    std::map<std::string, workspace_turns::time> looks;
    std::map<std::string, int> passed_over; // while it was due
    auto now = start;
    for (int step = 0; step < 500; ++step) {
      INFO("seed " << seed << ", step " << step);
      const auto name = std::to_string(below(8));
      switch (below(6)) {
      case 0:
        turns.measure_soon(name), ended.insert(name);
        break;
      case 1:
        looks[name] = now + std::chrono::seconds{below(20)};
        turns.look_at(name, looks[name]), passed_over.erase(name);
        break;
      case 2:
        turns.look_no_more(name), looks.erase(name), passed_over.erase(name);
        break;
      case 3:
        turns.forget(name), looks.erase(name), ended.erase(name), passed_over.erase(name);
        break;
      case 4:
        now += std::chrono::seconds{below(5)};
        break;
      default: {
        const auto turn = turns.next(now);
        const auto is_due = [&](const std::string& one) {
          return ended.contains(one) || (looks.contains(one) && looks[one] <= now);
        };
        if (turn.what == kind::wait) {
          for (int i = 0; i < 8; ++i) REQUIRE_FALSE(is_due(std::to_string(i)));
          std::optional<workspace_turns::time> first;
          for (const auto& [who, at] : looks) first = std::min(first.value_or(at), at);
          REQUIRE(turn.until == first);
        } else {
          REQUIRE(turn.what == kind::measure);
          REQUIRE(is_due(turn.name));
          ended.erase(turn.name), looks.erase(turn.name), passed_over.erase(turn.name);
          for (int i = 0; i < 8; ++i)
            if (const auto one = std::to_string(i); is_due(one)) REQUIRE(++passed_over[one] < 32);
        }
      }
      }
      for (int i = 0; i < 8; ++i) {
        const auto one = std::to_string(i);
        REQUIRE(turns.is_to_be_measured(one) == ended.contains(one));
        REQUIRE(turns.is_looked_at(one) == looks.contains(one));
      }
    }
  }
}

TEST_CASE("the bytes of a guild are the sum of its workspaces, also where one could not be measured", "[workspaces]") {
  guild_bytes sums;
  sums.change("w-g1", 0, 5);
  sums.change("w-g1", 0, 7);
  sums.change("w-g2", 0, 1);
  CHECK(sums.of("w-g1") == 12);
  sums.change("w-g1", 5, endless);
  CHECK(sums.of("w-g1") == endless);
  CHECK(sums.of("w-g2") == 1);
  sums.change("w-g1", endless, 2);
  CHECK(sums.of("w-g1") == 9);
  sums.change("w-g1", 7, 0);
  sums.change("w-g1", 2, 0);
  CHECK(sums.of("w-g1") == 0);
}

TEST_CASE("where counting ended early a workspace counts as its whole quota", "[workspaces]") {
  constexpr std::uint64_t quota = 8 << 20;
  const auto most = most_entries(quota);
  CHECK(charged_bytes({5, 2 * most}, quota) == 5);
  CHECK(charged_bytes({5, 2 * most + 1}, quota) == quota);
  CHECK(charged_bytes({quota + 5, 2 * most + 1}, quota) == quota + 5);
  CHECK(charged_bytes({5, 100 * most}, 0) == 5); // without a quota all is counted
}
