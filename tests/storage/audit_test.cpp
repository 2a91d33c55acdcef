// The audit: a chain that grows with the events of that type, and drops entries by age alone.
#include <catch2/catch.hpp>

#include "storage/audit.hpp"
#include "storage/queries.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;
using namespace std::chrono_literals;

namespace {

event_record audit_event(std::uint64_t id, wall_time at) {
  auto e = event(id, "audit");
  e.at = at;
  e.data = "{\"action\":\"a" + std::to_string(id) + "\"}";
  return e;
}

std::vector<audit_record> all(const std::string& directory, std::uint64_t after = 0, std::uint32_t limit = 1000) {
  auto store = open_reader(directory);
  REQUIRE(store);
  auto found = (*store)->audit(after, limit);
  REQUIRE(found);
  for (std::size_t i = 0; i < found->size(); ++i) {
    const auto& entry = (*found)[i];
    CHECK(audit_hash(entry) == entry.hash);
    if (i > 0) CHECK(entry.previous == (*found)[i - 1].hash);
  }
  return *found;
}

const wall_time noon{std::chrono::hours{490'000}};

} // namespace

TEST_CASE("each audit event is the next entry of the chain, and only such an event", "[audit]") {
  temp_directory directory;
  store s(directory.path());
  REQUIRE_FALSE(s.write(
      {put_event{audit_event(1, noon)}, put_event{event(2, "cancel_fenced")}, put_event{audit_event(3, noon + 1ms)}}));
  REQUIRE_FALSE(s.write({put_event{audit_event(4, noon + 2ms)}}));
  const auto found = all(directory.path());
  REQUIRE(found.size() == 3);
  CHECK(found[0].previous == audit_origin());
  CHECK(found[2].n == 3);
  CHECK(found[1].data == audit_event(3, noon).data);
  CHECK(found[1].at == noon + 1ms);
  CHECK(all(directory.path(), 1, 1) == std::vector<audit_record>{found[1]});
  auto changed = found[1];
  changed.data += ' ';
  CHECK(audit_hash(changed) != found[1].hash);
}

TEST_CASE("a batch that fails leaves no entry behind", "[audit]") {
  temp_directory directory;
  store s(directory.path());
  REQUIRE_FALSE(s.write({put_operation{operation(1, "a")}}));
  REQUIRE(s.write({put_event{audit_event(1, noon)}, put_operation{operation(1, "a")}}));
  CHECK(all(directory.path()).empty());
  REQUIRE_FALSE(s.write({put_event{audit_event(2, noon)}}));
  CHECK(all(directory.path()).front().n == 1);
}

TEST_CASE("entries go by their own time, and numbers go on", "[audit]") {
  temp_directory directory;
  store s(directory.path());
  REQUIRE(keep_audit(directory.path(), 10s));
  for (std::uint64_t i = 1; i <= 5; ++i) REQUIRE_FALSE(s.write({put_event{audit_event(i, noon + i * 1s)}}));
  CHECK(all(directory.path()).size() == 5);
  REQUIRE_FALSE(s.write({drop_events{1'000}})); // the events' own retention has no effect here
  CHECK(all(directory.path()).size() == 5);
  REQUIRE_FALSE(s.write({put_event{audit_event(6, noon + 13s)}}));
  const auto found = all(directory.path());
  REQUIRE(found.size() == 4);
  CHECK(found.front().n == 3); // exactly at the age limit
  REQUIRE(keep_audit(directory.path(), 0ms));
  REQUIRE_FALSE(s.write({put_event{audit_event(7, noon + 99h)}}));
  CHECK(all(directory.path()).size() == 5);
}
