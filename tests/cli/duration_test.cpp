// Durations, sizes and instants as people write and read them.
#include <catch2/catch.hpp>

#include "cli/duration.hpp"
#include "cli/instant.hpp"

using namespace quell;
using namespace quell::cli;

TEST_CASE("a duration needs a unit, and only 0 goes without") {
  CHECK(parse_duration("250ms") == milliseconds{250});
  CHECK(parse_duration("30s") == milliseconds{30'000});
  CHECK(parse_duration("5m") == milliseconds{300'000});
  CHECK(parse_duration("2h") == milliseconds{7'200'000});
  CHECK(parse_duration("1d") == milliseconds{86'400'000});
  CHECK(parse_duration("0") == milliseconds{0});
  for (const char* bad :
       {"", "5", "s", "-5s", "+5s", " 5s", "5 s", "5S", "1.5s", "5sec", "99999999999999999999s", "4000d", "0x5s"}) {
    INFO(bad);
    CHECK_FALSE(parse_duration(bad).has_value());
  }
  CHECK(parse_duration("30").error().detail.find("write 250ms, 30s") != std::string::npos);
}

TEST_CASE("durations are shown with two units at most") {
  CHECK(cli::duration_text(milliseconds{740}) == "740ms");
  CHECK(cli::duration_text(milliseconds{2449}) == "2.4s");
  CHECK(cli::duration_text(milliseconds{12'999}) == "12s");
  CHECK(cli::duration_text(milliseconds{185'000}) == "3m05s");
  CHECK(cli::duration_text(milliseconds{7'620'000}) == "2h07m");
  CHECK(cli::duration_text(milliseconds{86'400'000 * 5 + 3'600'000 * 3}) == "5d3h");
  CHECK(cli::duration_text(milliseconds{-5}) == "0ms");
}

TEST_CASE("an instant reads back as it was written") {
  const auto at = parse_instant("2026-11-20T09:51:07.123Z");
  REQUIRE(at);
  CHECK(instant_text(*at) == "2026-11-20T09:51:07.123Z");
  CHECK(parse_instant("2026-11-20T09:51:07Z") == *at - milliseconds{123});
  for (const char* bad : {"", "2026-11-20", "2026-13-20T09:51:07Z", "2026-02-30T09:51:07Z", "2026-11-20T25:51:07Z",
                          "2026-11-20T09:51:07", "2026-11-20T09:51:07.1x3Z"}) {
    INFO(bad);
    CHECK_FALSE(parse_instant(bad));
  }
}

TEST_CASE("times are relative in both directions") {
  const wall_time now{milliseconds{1'000'000'000}};
  CHECK(relative_text(now - milliseconds{185'000}, now) == "3m05s ago");
  CHECK(relative_text(now + milliseconds{2000}, now) == "in 2.0s");
  CHECK(relative_text(now, now) == "now");
  CHECK(clock_text(now, now, time_zone::utc).ends_with("Z"));
}
