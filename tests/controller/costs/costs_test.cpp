// Budgets of turns and of days, without a ledger.
#include <catch2/catch.hpp>

#include <limits>

#include "controller/costs/day_totals.hpp"
#include "controller/costs/tree_costs.hpp"

using namespace quell;
using namespace quell::controller::costs;

namespace {

scope_path at(const char* text) { return *scope_path::parse(text); }
model_usage cost(std::uint64_t nanos, std::uint64_t tokens = 0) {
  model_usage used;
  used.output_tokens = tokens;
  used.cost_nanos = nanos;
  return used;
}
wall_time noon(utc_day day) { return begin_of(day) + std::chrono::hours{12}; }

} // namespace

TEST_CASE("a day is written and read as a date") {
  CHECK(day_text(0) == "1970-01-01");
  CHECK(day_text(*parse_day("2026-11-23")) == "2026-11-23");
  CHECK_FALSE(parse_day("2026-02-30"));
  CHECK_FALSE(parse_day("2026-2-3"));
  CHECK_FALSE(parse_day("1969-12-31"));
  CHECK(amount_text(1'250'000'000) == "1.25");
  CHECK(amount_text(3'000'000'000) == "3");
}

TEST_CASE("sums stay at the most that can be counted, and budgets stay used up") {
  const auto beyond = std::numeric_limits<std::uint64_t>::max();
  model_usage all = cost(beyond, beyond);
  all += cost(beyond, beyond);
  all += cost(1, 1);
  CHECK(all.cost_nanos == most_used);
  CHECK(all.output_tokens == most_used);
  all.input_tokens = beyond;
  CHECK(tokens_of(all) == most_used);
  const utc_day today = *parse_day("2026-11-23");
  day_totals totals({{at("discord"), budget_of::all, 0, 1'000}});
  for (int i = 0; i < 4; ++i) {
    totals.add(today, at("discord"), "ann", all);
    CHECK(totals.why_exhausted(at("discord"), "ann", noon(today)));
  }
}

TEST_CASE("a budget of a day counts its scope and everything below, and begins anew at midnight") {
  const utc_day today = *parse_day("2026-11-23");
  day_totals totals({{at("discord"), budget_of::all, 5'000'000'000, 0}});
  totals.add(today, at("discord/g1/c1"), "ann", cost(3'000'000'000));
  CHECK_FALSE(totals.why_exhausted(at("discord/g2"), "bob", noon(today)));
  totals.add(today, at("discord/g2"), "bob", cost(2'000'000'000));
  const auto why = totals.why_exhausted(at("discord/g1"), "ann", begin_of(today + 1) - milliseconds{1});
  REQUIRE(why);
  CHECK(why->find("5 of its 5") != std::string::npos);
  CHECK(why->find("2026-11-24T00:00:00Z") != std::string::npos);
  CHECK_FALSE(totals.why_exhausted(at("discord/g1"), "ann", begin_of(today + 1)));
  CHECK_FALSE(totals.why_exhausted(at("team"), "ann", noon(today)));
  // A clock that goes back over midnight finds what it had counted.
  totals.add(today + 1, at("discord"), "ann", cost(1));
  CHECK(totals.why_exhausted(at("discord"), "ann", noon(today)));
  totals.add(today + 3, at("discord"), "ann", cost(1));
  CHECK(totals.size() == 1);
}

TEST_CASE("a budget per author or per child has one sum for each of them") {
  const utc_day today = 20'000;
  day_totals totals({{std::nullopt, budget_of::author, 0, 100}, {at("discord"), budget_of::child, 0, 1000}});
  totals.add(today, at("discord/g1/c1"), "ann", cost(0, 100));
  CHECK(totals.why_exhausted(at("elsewhere"), "ann", noon(today)));
  CHECK_FALSE(totals.why_exhausted(at("discord/g1"), "bob", noon(today)));
  for (int i = 0; i < 9; ++i) totals.add(today, at("discord/g1"), "user" + std::to_string(i), cost(0, 100));
  CHECK(totals.why_exhausted(at("discord/g1/c2"), "bob", noon(today)));
  CHECK_FALSE(totals.why_exhausted(at("discord/g2"), "bob", noon(today)));
  CHECK_FALSE(totals.why_exhausted(at("discord"), "bob", noon(today)));
}

TEST_CASE("a turn's budget counts what has begun and what has ended, until the turn is over") {
  tree_costs trees;
  const auto turn = operation_id::fresh();
  const tree_limits limits{1'000, 0, 2};
  CHECK_FALSE(trees.why_exhausted(turn, limits));
  trees.begin_call(turn, limits);
  trees.begin_call(turn, limits);
  CHECK(trees.why_exhausted(turn, limits)); // as many calls as may be
  CHECK_FALSE(trees.why_used_up(turn));
  trees.add(turn, cost(999));
  CHECK_FALSE(trees.why_used_up(turn));
  trees.add(turn, cost(1));
  CHECK(trees.why_used_up(turn));
  const auto of = trees.close(turn);
  REQUIRE(of);
  CHECK(of->calls == 2);
  CHECK(of->used.cost_nanos == 1'000);
  CHECK_FALSE(trees.close(turn));
}
