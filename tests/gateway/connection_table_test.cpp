// Connections that are closed to make room when the number of connections is at its limit.
#include <algorithm>

#include <catch2/catch.hpp>

#include "gateway/connection_table.hpp"

using namespace quell::controller::http;
using namespace std::chrono_literals;
using phase = connection_table::phase;
using place = connection_table::place;

namespace {

struct table_world {
  connection_table table;
  connection_table::instant now{};
  std::vector<std::string> closed;
  explicit table_world(std::size_t most, std::size_t reserved = 2) : table(most, reserved) {}

  connection_table::id comes(const std::string& peer, const std::string& name, place where = place::ordinary) {
    now += 1ms;
    return table.enter(
        peer, where, [this, name] { closed.push_back(name); }, now);
  }
  connection_table::id works(const std::string& peer, const std::string& name, place where = place::ordinary) {
    const auto id = comes(peer, name, where);
    table.move(id, phase::at_work, now);
    return id;
  }
  connection_table::id watches(const std::string& token, const std::string& name, place where = place::ordinary) {
    const auto id = works("proxy", name, where);
    table.belongs_to(id, token);
    table.move(id, phase::watching, now);
    return id;
  }
};

} // namespace

TEST_CASE("the peer with the most idle connections makes room, its longest idle first", "[connections]") {
  table_world w(5);
  w.comes("honest", "honest");
  for (int i = 0; i < 4; ++i) w.comes("flood", "flood " + std::to_string(i));
  CHECK(w.table.is_full());
  CHECK(w.table.make_room(w.now));
  CHECK(w.table.make_room(w.now));
  CHECK(w.closed == std::vector<std::string>{"flood 0", "flood 1"});
  CHECK_FALSE(w.table.is_full());
}

TEST_CASE("who has just asked something is not the longest idle", "[connections]") {
  table_world w(2);
  const auto first = w.comes("ann", "first");
  w.comes("ann", "second");
  w.now += 1ms;
  w.table.move(first, phase::at_work, w.now);
  w.table.move(first, phase::idle, w.now);
  CHECK(w.table.make_room(w.now));
  CHECK(w.closed == std::vector<std::string>{"second"});
}

TEST_CASE("who does not read its answer is idle", "[connections]") {
  table_world w(1);
  const auto slow = w.works("ann", "slow");
  CHECK_FALSE(w.table.make_room(w.now));
  w.table.move(slow, phase::writing, w.now);
  CHECK(w.table.make_room(w.now));
  w.table.leave(slow); // its end comes later
  CHECK(w.table.size() == 0);
}

TEST_CASE("a token that watches with more than a quarter makes room, others' streams stay", "[connections]") {
  table_world w(8);
  w.watches("ann", "ann");
  for (int i = 0; i < 7; ++i) w.watches("greedy", "greedy " + std::to_string(i));
  for (int i = 0; i < 5; ++i) CHECK(w.table.make_room(w.now));
  CHECK_FALSE(w.table.make_room(w.now)); // both are within their share
  CHECK(w.closed.size() == 5);
  CHECK(w.closed.front() == "greedy 0");
}

TEST_CASE("what is at work makes no room, and the reserve stays small", "[connections]") {
  table_world w(2, 2);
  w.works("ann", "a");
  w.works("bob", "b");
  CHECK(w.table.is_full());
  CHECK_FALSE(w.table.make_room(w.now));
  w.comes("cancel", "r0", place::reserved);
  const auto busy = w.comes("cancel", "r1", place::reserved);
  CHECK(w.table.is_reserve_full());
  w.table.move(busy, phase::at_work, w.now);
  CHECK(w.table.make_room_in_reserve());
  CHECK(w.closed == std::vector<std::string>{"r0"});
  CHECK_FALSE(w.table.make_room_in_reserve());
  CHECK_FALSE(w.table.make_room(w.now));      // the reserve is not for other connections
  w.table.move(busy, phase::watching, w.now); // the story of its stop
  CHECK_FALSE(w.table.make_room(w.now));
  CHECK(w.table.make_room_in_reserve());
  CHECK(w.closed.back() == "r1");
}

TEST_CASE("in the reserve a flood drops its own connections and never somebody else's", "[connections]") {
  table_world w(0, 8);
  w.comes("honest", "handshake", place::reserved); // the oldest of all
  for (int i = 0; i < 7; ++i) w.comes("flood", "flood " + std::to_string(i), place::reserved);
  for (int i = 7; i < 100; ++i) {
    CHECK(w.table.is_reserve_full());
    CHECK(w.table.make_room_in_reserve());
    w.comes("flood", "flood " + std::to_string(i), place::reserved);
  }
  CHECK(w.closed.size() == 93);
  CHECK(std::find(w.closed.begin(), w.closed.end(), "handshake") == w.closed.end());
  CHECK(w.closed.front() == "flood 0");
}

TEST_CASE("a cancel that waits in the reserve gives way to no flood of idle connections", "[connections]") {
  table_world w(0, 8);
  w.watches("admin", "cancel", place::reserved);
  SECTION("of one peer") {
    for (int i = 0; i < 50; ++i) {
      if (w.table.is_reserve_full()) CHECK(w.table.make_room_in_reserve());
      w.comes("flood", "flood", place::reserved);
    }
  }
  SECTION("of many peers with one connection each") {
    for (int i = 0; i < 50; ++i) {
      if (w.table.is_reserve_full()) CHECK(w.table.make_room_in_reserve());
      w.comes("peer " + std::to_string(i), "flood", place::reserved);
    }
  }
  CHECK(std::find(w.closed.begin(), w.closed.end(), "cancel") == w.closed.end());
  CHECK(w.closed.size() == 43);
}

TEST_CASE("a token that watches with most of the reserve makes room there", "[connections]") {
  table_world w(0, 8);
  w.comes("honest", "handshake", place::reserved);
  w.watches("admin", "cancel", place::reserved);
  for (int i = 0; i < 6; ++i) w.watches("greedy", "greedy " + std::to_string(i), place::reserved);
  for (int i = 0; i < 4; ++i) CHECK(w.table.make_room_in_reserve());
  CHECK(w.closed == std::vector<std::string>{"greedy 0", "greedy 1", "greedy 2", "greedy 3"});
}

TEST_CASE("what a peer has at work in the reserve counts for its share", "[connections]") {
  table_world w(0, 6);
  w.comes("honest", "handshake", place::reserved);
  for (int i = 0; i < 4; ++i) w.works("flood", "working", place::reserved);
  w.comes("flood", "flood", place::reserved);
  CHECK(w.table.make_room_in_reserve());
  CHECK(w.closed == std::vector<std::string>{"flood"});
}

TEST_CASE("a flood of peers with one connection each gives way by age of the largest, and a fresh one may stay",
          "[connections]") {
  table_world w(4);
  for (int i = 0; i < 4; ++i) w.comes("peer " + std::to_string(i), std::to_string(i));
  CHECK_FALSE(w.table.make_room(w.now, 1s));
  CHECK(w.table.make_room(w.now + 2s, 1s));
  CHECK(w.closed.size() == 1);
}

TEST_CASE("a stop closes those who wait for a request and nobody else", "[connections]") {
  table_world w(10);
  w.comes("ann", "idle");
  w.works("ann", "working");
  w.watches("t", "watching");
  w.table.close_idle();
  CHECK(w.closed == std::vector<std::string>{"idle"});
  CHECK(w.table.size() == 2);
}
