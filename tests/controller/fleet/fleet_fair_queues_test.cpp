// Whose turn it is among the waiting tasks of one requirement.
#include <catch2/catch.hpp>

#include <algorithm>

#include "controller/fleet/fair_queues.hpp"

using namespace quell;
using namespace quell::controller;

TEST_CASE("turns that are given back leave nothing behind, in whatever order they come") {
  turn_counts turns;
  const queue_name busy{1, 1};
  std::vector<turn_counts::given> waiting;
  for (int i = 0; i < 500; ++i) waiting.push_back(turns.give(busy)); // heads of 500 requirements
  for (const auto& one : waiting) turns.take_back(one);
  CHECK(turns.rank_of_guild(1) == turns.rank_of_guild(2));
  CHECK(turns.rank_of_author(busy) == turns.rank_of_author({1, 2}));
}

TEST_CASE("of guilds that were never served the one with the oldest task is next") {
  turn_counts turns;
  fair_queues queues;
  const auto older = operation_id::fresh(), newer = operation_id::fresh();
  std::uint64_t arrivals = 0;
  queues.push({900, 0}, {older}, arrivals);
  queues.push({3, 0}, {newer}, arrivals);
  queues.choose(turns);
  CHECK(queues.front().id == older);
}

TEST_CASE("stale tasks of one queue are dropped without a choice, and the turn goes to the oldest guild") {
  turn_counts turns;
  fair_queues queues;
  std::vector<operation_id> row;
  for (int i = 0; i < 5; ++i) row.push_back(operation_id::fresh());
  std::uint64_t arrivals = 0, arrivals_of_other = 3;
  queues.push({1, 0}, row, arrivals);
  const auto other = operation_id::fresh();
  queues.push({2, 0}, {other}, arrivals_of_other);
  queues.choose(turns);
  std::size_t budget = 100;
  const auto is_one_of_first = [&](std::ptrdiff_t count) {
    return [&row, count](const operation_id& id) {
      return std::find(row.begin(), row.begin() + count, id) != row.begin() + count;
    };
  };
  SECTION("up to the last one of the queue") {
    queues.drop_stale(turns, budget, is_one_of_first(4));
    CHECK(budget == 96);
    CHECK(queues.size() == 2);
    CHECK(queues.guilds() == 2);
    CHECK(queues.front().id == other); // number 4 is older than 5
  }
  SECTION("with the queue") {
    queues.drop_stale(turns, budget, is_one_of_first(5));
    CHECK(budget == 95);
    CHECK(queues.size() == 1);
    CHECK(queues.guilds() == 1);
    CHECK(queues.front().id == other);
  }
  SECTION("as far as the budget goes") {
    budget = 2;
    queues.drop_stale(turns, budget, is_one_of_first(5));
    CHECK(budget == 0);
    CHECK(queues.size() == 4);
    CHECK(queues.front().id == row[2]);
  }
}
