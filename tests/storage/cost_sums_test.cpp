// Sums of what models were asked: exact as long as they are believable, and never an error beyond that.
#include <catch2/catch.hpp>

#include <limits>

#include "storage/queries.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

entry used(const char* where, std::uint64_t tokens, std::uint64_t nanos, const char* model = "m") {
  records::cost_record row;
  row.day = 20'000;
  row.scope = scope(where);
  row.author = "mia";
  row.agent = "main";
  row.model = model;
  row.calls = 1;
  row.usage.input_tokens = row.usage.output_tokens = row.usage.cached_input_tokens = tokens;
  row.usage.cache_written_tokens = tokens;
  row.usage.cost_nanos = nanos;
  return records::add_cost{std::move(row), records::no_day};
}

records::cost_page sums_in(const std::string& directory) {
  auto reader = open_limited_reader(directory);
  REQUIRE(reader);
  records::cost_filter f;
  f.by = records::cost_group::scope;
  auto page = (*reader)->costs(f);
  REQUIRE(page);
  return *page;
}

} // namespace

TEST_CASE("sums of costs are exact") {
  temp_directory d;
  store s{d.path()};
  REQUIRE_FALSE(s.write({used("a", 4'503'599'627'370'497, 1), used("a", 1, 999'999'999, "other"), used("b", 2, 3)}));
  const auto page = sums_in(d.path());
  REQUIRE(page.rows.size() == 2);
  CHECK(page.rows[0].usage.input_tokens == 4'503'599'627'370'498);
  CHECK(page.rows[0].usage.cost_nanos == 1'000'000'000);
  CHECK(page.total.usage.output_tokens == 4'503'599'627'370'500);
  CHECK(page.total.calls == 3);
}

TEST_CASE("sums of costs that no number holds stay at the most, also over a restart") {
  constexpr auto beyond = std::numeric_limits<std::uint64_t>::max();
  temp_directory d;
  {
    store s{d.path()};
    // Twice into one row, and into a second one.
    for (const char* model : {"m", "m", "other"}) REQUIRE_FALSE(s.write({used("a", beyond, beyond, model)}));
    const auto page = sums_in(d.path());
    for (const auto* row : {&page.rows.at(0), &page.total}) {
      CHECK(row->usage.input_tokens == most_used);
      CHECK(row->usage.cache_written_tokens == most_used);
      CHECK(row->usage.cost_nanos == most_used);
      CHECK(row->calls == 3);
    }
  }
  store again{d.path()};
  REQUIRE(again.recovered.costs.size() == 1);
  CHECK(again.recovered.costs[0].usage.output_tokens == most_used);
}
