// Tombstones: one for each id, counted for the token that left it.
#include "controller/ledger/tombstones.hpp"

#include <catch2/catch.hpp>

using namespace quell;
using namespace quell::controller;

namespace {

operation_id grave_id(std::uint8_t number) {
  operation_id id;
  id.bytes[15] = number;
  return id;
}

records::tombstone_record grave(std::uint8_t number, const std::string& token, std::int64_t expires_ms = 1'000) {
  records::tombstone_record t;
  t.id = grave_id(number);
  t.cancel.bytes[15] = number;
  t.expires_at = wall_time{milliseconds{expires_ms}};
  t.via_token = token;
  return t;
}

std::vector<std::string> broken_in(const live::tombstones& all) {
  std::vector<std::string> broken;
  all.check(broken);
  return broken;
}

} // namespace

TEST_CASE("a tombstone is found by its id until it is dropped, and counts for its token") {
  live::tombstones all(10);
  all.put(grave(1, "laptop"));
  all.put(grave(2, "laptop"));
  all.put(grave(3, "bot"));
  REQUIRE(all.find(grave_id(1)) != nullptr);
  CHECK(all.find(grave_id(1))->via_token == "laptop");
  CHECK(all.find(grave_id(9)) == nullptr);
  CHECK(all.left_by("laptop") == 2);
  CHECK(all.left_by("nobody") == 0);
  CHECK(all.drop(grave_id(1)));
  CHECK_FALSE(all.drop(grave_id(1)));
  CHECK(all.find(grave_id(1)) == nullptr);
  CHECK(all.left_by("laptop") == 1);
  CHECK(all.size() == 2);
  CHECK(broken_in(all).empty());
}

TEST_CASE("a tombstone that another token renews counts for that token alone") {
  live::tombstones all(10);
  all.put(grave(1, "laptop", 1'000));
  all.put(grave(1, "bot", 5'000));
  CHECK(all.size() == 1);
  CHECK(all.left_by("laptop") == 0);
  CHECK(all.left_by("bot") == 1);
  CHECK(all.time_left(grave_id(1), wall_time{milliseconds{2'000}}) == milliseconds{3'000});
  CHECK(broken_in(all).empty());
  all.put(grave(1, "bot", 9'000));
  CHECK(all.left_by("bot") == 1);
  CHECK(broken_in(all).empty());
}

TEST_CASE("a token that has used up its quota of tombstones is full, other tokens are not") {
  live::tombstones all(2);
  all.put(grave(1, "laptop"));
  CHECK_FALSE(all.is_full("laptop"));
  all.put(grave(2, "laptop"));
  CHECK(all.is_full("laptop"));
  CHECK_FALSE(all.is_full("bot"));
  all.drop(grave_id(2));
  CHECK_FALSE(all.is_full("laptop"));
}

TEST_CASE("a tombstone is over when nothing of its time is left, however the clock was set") {
  live::tombstones all(10);
  all.put(grave(1, "laptop", 1'000));
  CHECK(all.time_left(grave_id(1), wall_time{milliseconds{999}}) == milliseconds{1});
  CHECK(all.time_left(grave_id(1), wall_time{milliseconds{1'000}}) == milliseconds{0});
  CHECK(all.time_left(grave_id(1), wall_time{milliseconds{2'000}}) == milliseconds{-1'000});
  CHECK(all.time_left(grave_id(1), wall_time{milliseconds{0}}) == milliseconds{1'000});
  CHECK_FALSE(all.time_left(grave_id(2), wall_time{milliseconds{0}}));
}
