// Ids: layout, text, order, uniqueness over threads and forks.
#include <algorithm>
#include <set>
#include <thread>
#include <unordered_set>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "protocol/id.hpp"

using namespace quell;

namespace {
constexpr std::int64_t largest_clock = (std::int64_t{1} << 48) - 1;
}

TEST_CASE("an id is laid out as RFC 9562 shows it in its example", "[id]") {
  // RFC 9562, A.6: 017F22E2-79B0-7CC3-98C4-DC0C0C07398F at 1645557742000 ms
  const std::array<std::uint8_t, 10> random{0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f};
  const auto bytes = make_uuid7(wall_time{milliseconds{1645557742000}}, random);
  CHECK(uuid_text(bytes) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  CHECK(uuid_time(bytes) == wall_time{milliseconds{1645557742000}});
}

TEST_CASE("any instant and any randomness give an id that survives being written and read", "[id]") {
  CHECK(rc::check([] {
    const auto ms = *rc::gen::inRange<std::int64_t>(0, largest_clock);
    const auto random = *rc::gen::arbitrary<std::array<std::uint8_t, 10>>();
    const auto bytes = make_uuid7(wall_time{milliseconds{ms}}, random);
    RC_ASSERT(parse_uuid7(uuid_text(bytes)) == bytes);
    RC_ASSERT(uuid_time(bytes).time_since_epoch().count() == ms);
  }));
}

TEST_CASE("byte order of ids is time order", "[id]") {
  CHECK(rc::check([] {
    const auto earlier = *rc::gen::inRange<std::int64_t>(0, largest_clock - 1);
    const auto later = *rc::gen::inRange<std::int64_t>(earlier + 1, largest_clock);
    const auto a = make_uuid7(wall_time{milliseconds{earlier}}, *rc::gen::arbitrary<std::array<std::uint8_t, 10>>());
    const auto b = make_uuid7(wall_time{milliseconds{later}}, *rc::gen::arbitrary<std::array<std::uint8_t, 10>>());
    RC_ASSERT(a < b);
    RC_ASSERT(uuid_text(a) < uuid_text(b));
  }));
}

TEST_CASE("text that is not a lower-case UUIDv7 of 36 characters is refused", "[id]") {
  const std::string good = "01a1f869-3df9-7303-8207-dde70bee07dd";
  REQUIRE(operation_id::parse(good));
  const auto bad = GENERATE(values<std::string>({
      "",
      "01a1f869-3df9-7303-8207-dde70bee07d",
      "01a1f869-3df9-7303-8207-dde70bee07dd0",
      "01A1F869-3DF9-7303-8207-DDE70BEE07DD",
      "{01a1f869-3df9-7303-8207-dde70bee07dd}",
      "01a1f8693df973038207dde70bee07dd",
      "01a1f8693-df9-7303-8207-dde70bee07dd",
      "01a1f869-3df9-4303-8207-dde70bee07dd", // version 4
      "01a1f869-3df9-7303-c207-dde70bee07dd", // another variant
      "01a1f869-3df9-7303-0207-dde70bee07dd",
      "01a1f869-3df9-7303-8207-dde70bee07dg",
      "01a1f869 3df9 7303 8207 dde70bee07dd",
      std::string("01a1f869-3df9-7303-8207-dde70bee07d\0", 36),
  }));
  INFO(bad);
  CHECK_FALSE(operation_id::parse(bad));
}

TEST_CASE("a default id is nil, a fresh one is not and names the present", "[id]") {
  CHECK(operation_id{}.is_nil());
  const auto before = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  const auto id = operation_id::fresh();
  const auto after = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  CHECK_FALSE(id.is_nil());
  CHECK(operation_id::parse(id.text()) == id);
  CHECK(id.time() >= before);
  CHECK(id.time() <= after + std::chrono::seconds{1});
}

TEST_CASE("100,000 ids made in one burst grow and differ in their last 8 digits nearly always", "[id]") {
  std::vector<operation_id> ids(100'000);
  std::generate(ids.begin(), ids.end(), [] { return operation_id::fresh(); });
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
  std::unordered_set<std::string> tails;
  for (const auto& id : ids) tails.insert(id.text().substr(28));
  CHECK(tails.size() > 99'980); // 100,000 of 2^32: about one pair is expected
}

TEST_CASE("threads never make the same id", "[id]") {
  constexpr std::size_t each = 20'000;
  std::array<std::vector<operation_id>, 4> made;
  {
    std::vector<std::jthread> threads;
    for (auto& mine : made)
      threads.emplace_back([&mine] {
        for (std::size_t i = 0; i < each; ++i) mine.push_back(operation_id::fresh());
      });
  }
  std::unordered_set<operation_id> all;
  for (const auto& mine : made) all.insert(mine.begin(), mine.end());
  CHECK(all.size() == made.size() * each);
}

TEST_CASE("a forked child does not make the ids that its parent makes", "[id]") {
  (void)operation_id::fresh(); // the pool is filled before the fork
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto id = operation_id::fresh();
    const bool written = ::write(ends[1], id.bytes.data(), id.bytes.size()) == 16;
    ::_exit(written ? 0 : 1);
  }
  const auto ours = operation_id::fresh();
  operation_id theirs;
  CHECK(::read(ends[0], theirs.bytes.data(), theirs.bytes.size()) == 16);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(status == 0);
  // The counters can be equal; the random halves, which the short ids are made of, must differ.
  CHECK_FALSE(std::equal(ours.bytes.begin() + 8, ours.bytes.end(), theirs.bytes.begin() + 8));
}

TEST_CASE("ids of different kinds are different types", "[id]") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<operation_id, cancel_id>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<cancel_id, operation_id>);
}
