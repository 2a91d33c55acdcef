// Places of calls that write one file: first come, first served, across turns and threads; a place that is given up
// holds up nobody.
#include "actors/turns/path_lanes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using quell::controller::turns::path_lanes;

namespace {

using place = std::shared_ptr<path_lanes::place>;

struct lanes_of_a_test {
  std::shared_ptr<path_lanes> lanes = std::make_shared<path_lanes>();
  std::vector<std::string> ran;

  place join(const std::string& path) { return lanes->join(path); }
  void wants(const place& p, const std::string& name) {
    p->when_first([this, name] { ran.push_back(name); });
  }
};

using names = std::vector<std::string>;

} // namespace

TEST_CASE("writers of one path run in the order in which they joined, whoever asks first", "[turns][paths]") {
  lanes_of_a_test t;
  place parent = t.join("/w/f"), sub_agent = t.join("/w/f"), other_turn = t.join("/w/f");
  t.wants(other_turn, "other turn");
  t.wants(sub_agent, "sub-agent");
  CHECK(t.ran.empty());
  t.wants(parent, "parent");
  CHECK(t.ran == names{"parent"});
  parent.reset();
  CHECK(t.ran == names{"parent", "sub-agent"});
  sub_agent.reset();
  CHECK(t.ran == names{"parent", "sub-agent", "other turn"});
}

TEST_CASE("who asks after the others have left runs at once", "[turns][paths]") {
  lanes_of_a_test t;
  place first = t.join("/w/f"), second = t.join("/w/f");
  t.wants(first, "first");
  first.reset();
  CHECK(t.ran == names{"first"});
  t.wants(second, "second");
  CHECK(t.ran == names{"first", "second"});
}

TEST_CASE("another path waits for nobody", "[turns][paths]") {
  lanes_of_a_test t;
  const place one = t.join("/w/f"), other = t.join("/w/g");
  t.wants(one, "f");
  t.wants(other, "g");
  CHECK(t.ran == names{"f", "g"});
}

TEST_CASE("a place that is given up before its turn never runs, and the next one proceeds", "[turns][paths]") {
  lanes_of_a_test t;
  place first = t.join("/w/f"), stopped = t.join("/w/f"), last = t.join("/w/f");
  t.wants(first, "first");
  t.wants(stopped, "stopped");
  t.wants(last, "last");
  SECTION("while it waits") {
    stopped.reset();
    CHECK(t.ran == names{"first"});
    first.reset();
  }
  SECTION("after the one before it") {
    place silent = t.join("/w/f"); // it never asks: only its end counts
    first.reset();
    CHECK(t.ran == names{"first", "stopped"});
    stopped.reset();
    last.reset();
    place after = t.join("/w/f");
    t.wants(after, "after");
    CHECK(t.ran == names{"first", "stopped", "last"});
    silent.reset();
    CHECK(t.ran == names{"first", "stopped", "last", "after"});
    return;
  }
  CHECK(t.ran == names{"first", "last"});
}

TEST_CASE("what ends a place from inside a call back ends it once and lets the next one proceed", "[turns][paths]") {
  lanes_of_a_test t;
  auto places = std::make_shared<std::array<place, 3>>();
  for (auto& p : *places) p = t.join("/w/f");
  for (std::size_t i = 0; i < places->size(); ++i)
    (*places)[i]->when_first([&t, places = places.get(), i] {
      t.ran.push_back(std::to_string(i));
      (*places)[i].reset();
    });
  CHECK(t.ran == names{"0", "1", "2"});
}

TEST_CASE("a place that outlives the lanes ends quietly", "[turns][paths]") {
  lanes_of_a_test t;
  place left = t.join("/w/f");
  t.lanes.reset();
  t.wants(left, "nobody");
  left.reset();
  CHECK(t.ran.empty());
}

TEST_CASE("of many threads one at a time writes a path, in the order of their places", "[turns][paths]") {
  constexpr int threads = 4, calls = 100;
  const auto lanes = std::make_shared<path_lanes>();
  std::mutex joining;
  int joined = 0;
  std::vector<int> order; // written by whoever has the lane
  std::atomic<int> inside = 0, most_inside = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < calls; ++i) {
        auto held = std::make_shared<place>();
        int number = 0;
        {
          const std::lock_guard lock(joining);
          *held = lanes->join("/w/f");
          number = joined++;
        }
        const auto own = *held; // until it has asked
        own->when_first([&, number, held] {
          most_inside = std::max<int>(most_inside, ++inside);
          order.push_back(number);
          --inside;
          held->reset();
        });
      }
    });
  for (auto& t : all) t.join();
  CHECK(most_inside == 1);
  REQUIRE(order.size() == std::size_t{threads} * calls);
  CHECK(std::is_sorted(order.begin(), order.end()));
}
