// The shares of a day's bytes: full, refilled, shared by scopes, bounded in number, and kept over a life.
#include <catch2/catch.hpp>

#include "controller/byte_shares.hpp"
#include "controller/orders.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;
using kind = byte_shares::kind;

namespace {

moment at(std::chrono::nanoseconds passed) {
  return {wall_time(1'790'000'000s) + std::chrono::floor<milliseconds>(passed), boot_time{1'000'000'000} + passed};
}

byte_source from(std::string token, std::string author = {}, const std::string& scope = {}) {
  byte_source source{token, "token '" + token + "'", std::move(author)};
  if (!scope.empty()) source.scope = scope_path::parse(scope).value();
  return source;
}

constexpr double mib = 1 << 20;

} // namespace

TEST_CASE("a token has its day's bytes at once, and they come back steadily", "[bytes]") {
  byte_shares s({86'400, 0, 0});
  CHECK_FALSE(s.take(from("one"), 86'400, at(0s)));
  const auto refused = s.take(from("one"), 100, at(0s));
  REQUIRE(refused);
  CHECK(refused->free_after == 100s);
  CHECK(refused->why == "token 'one' has brought what a day has room for (limits.bytes_per_day, 86400 bytes); there "
                        "is room for this in 100 s, at 2026-09-21T14:15:00.000Z. Cancels are always taken.");
  CHECK_FALSE(s.take(from("two"), 86'400, at(0s)));
  CHECK(s.take(from("one"), 100, at(99s)));
  CHECK_FALSE(s.take(from("one"), 100, at(100s)));
}

TEST_CASE("more than a whole share is possible once it is empty", "[bytes]") {
  byte_shares s({1000, 0, 0});
  CHECK_FALSE(s.take(from("one"), 5000, at(0s)));
  CHECK(s.take(from("one"), 5000, at(23h)));
  CHECK_FALSE(s.take(from("one"), 5000, at(24h)));
}

TEST_CASE("an author is counted as one token names them", "[bytes]") {
  byte_shares s({0, 1000, 0});
  CHECK_FALSE(s.take(from("service:discord", "mia"), 1000, at(0s)));
  const auto refused = s.take(from("service:discord", "mia"), 1, at(0s));
  REQUIRE(refused);
  CHECK(refused->why.starts_with("author mia has brought"));
  CHECK(refused->why.find("limits.bytes_per_day_per_author, 1000 bytes") != std::string::npos);
  CHECK_FALSE(s.take(from("service:discord", "ben"), 1000, at(0s)));
  CHECK_FALSE(s.take(from("another", "mia"), 1000, at(0s)));
  CHECK_FALSE(s.take(from("service:discord"), 1000, at(0s)));
}

TEST_CASE("a scope is counted with all below it, and a full one keeps out nobody beside it", "[bytes]") {
  byte_shares s({0, 0, 1000});
  CHECK_FALSE(s.take(from("one", "", "team/a"), 600, at(0s)));
  CHECK_FALSE(s.take(from("two", "", "team/b"), 400, at(0s)));
  const auto refused = s.take(from("two", "", "team/c/d"), 1, at(0s));
  REQUIRE(refused);
  CHECK(refused->why.starts_with("scope team, with those below it, has received"));
  CHECK_FALSE(s.take(from("two", "", "teams"), 1000, at(0s)));
}

TEST_CASE("what is given back leaves each share as if it had not come", "[bytes]") {
  byte_shares s({1000, 1000, 1000});
  CHECK_FALSE(s.take(from("one", "mia", "a"), 400, at(0s)));
  CHECK_FALSE(s.take(from("one", "mia", "a"), 600, at(0s)));
  s.give_back(from("one", "mia", "a"), 600, at(0s));
  CHECK(s.look(from("one", "mia", "a"), 601, at(0s)));
  CHECK_FALSE(s.look(from("one", "mia", "a"), 600, at(0s)));
  s.give_back(from("one"), 600, at(0s)); // never below nothing
  CHECK_FALSE(s.look(from("one"), 1000, at(0s)));
  CHECK(s.take(from("one", "mia", "a"), 601, at(0s))); // the author and the scope have theirs still
  s.give_back(from("nobody"), 10, at(0s));
  CHECK(s.size() == 3);
}

TEST_CASE("what is refused is counted nowhere, and the longest wait is named", "[bytes]") {
  byte_shares s({1000, 1000, 4000});
  CHECK_FALSE(s.take(from("one", "mia", "a"), 800, at(0s)));
  for (int i = 0; i < 10; ++i) CHECK(s.take(from("one", "ben", "a"), 300, at(0s)));
  CHECK_FALSE(s.take(from("one", "ben", "a"), 200, at(0s)));
  const auto refused = s.take(from("one", "ben", "a"), 500, at(0s));
  REQUIRE(refused);
  CHECK(refused->why.starts_with("token 'one'")); // ben himself has room again sooner
  CHECK(refused->free_after == 43'200s);
}

TEST_CASE("a token that was counted before is not counted again", "[bytes]") {
  byte_shares s({1000, 1000, 0});
  auto source = from("one", "mia");
  source.token_is_counted = true;
  CHECK_FALSE(s.take(source, 1000, at(0s)));
  CHECK_FALSE(s.take(from("one", "ben"), 1000, at(0s)));
}

TEST_CASE("the owner of the machine has no share as a token, but as an author", "[bytes]") {
  byte_shares s({1000, 2000, 0});
  CHECK_FALSE(s.take(from(std::string(bootstrap_token_id), "mia"), 2000, at(0s)));
  CHECK(s.take(from(std::string(bootstrap_token_id), "mia"), 1, at(0s)));
  CHECK_FALSE(s.take(from(std::string(own_token_id)), 1e9, at(0s)));
}

TEST_CASE("what is never refused is counted, and to look counts nothing", "[bytes]") {
  byte_shares s({1000, 0, 0});
  CHECK_FALSE(s.look(from("one"), 1000, at(0s)));
  s.add(from("one"), 900, at(0s));
  CHECK(s.look(from("one"), 200, at(0s)));
  s.add(from("one"), 900, at(0s));
  CHECK_FALSE(s.take(from("one"), 1000, at(24h))); // never more than a day behind
}

TEST_CASE("a million names keep a heavy user's share and a bounded number of others", "[bytes]") {
  byte_shares s({0, 100 * mib, 0});
  CHECK_FALSE(s.take(from("service:discord", "heavy"), 100 * mib, at(0s)));
  for (int i = 0; i < 1'000'000; ++i) s.take(from("service:discord", "u" + std::to_string(i)), 10, at(0s));
  CHECK(s.size() <= byte_shares::most_of_kind);
  CHECK(s.take(from("service:discord", "heavy"), 1, at(0s)));
}

TEST_CASE("shares live on in the next life, as much emptier as time has passed", "[bytes]") {
  byte_shares before({1000, 1000, 1000});
  CHECK_FALSE(before.take(from("one", "mia", "a/b"), 1000, at(0s)));
  CHECK(before.all(at(0s).boot).size() == 4);
  CHECK(before.all(at(24h).boot).empty());
  const auto kept = before.all(at(6h).boot); // a quarter is free again

  const auto later = [&](std::chrono::nanoseconds since, byte_limits limits = {1000, 1000, 1000}) {
    byte_shares after(limits);
    after.restore(kept, since, at(0s).boot); // another boot
    return after;
  };
  CHECK(later(0s).take(from("one"), 251, at(0s)));
  CHECK_FALSE(later(0s).take(from("one"), 250, at(0s)));
  CHECK(later(-48h).take(from("one"), 251, at(0s))); // a clock that went back gives nothing away
  CHECK_FALSE(later(6h).take(from("one", "mia", "a"), 500, at(0s)));
  CHECK(later(6h).take(from("one", "mia", "a"), 501, at(0s)));
  CHECK(later(48h).size() == 0);
  CHECK(later(0s, {0, 0, 0}).size() == 0);
  CHECK_FALSE(later(0s, {10'000, 0, 0}).take(from("one"), 9'250, at(0s)));
  CHECK(later(0s, {500, 0, 0}).take(from("one"), 1, at(0s))); // a limit that was lowered: the whole share is used
}
