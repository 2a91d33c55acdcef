// Batches that a full disk refused: newer rows make older ones void, and results wait for the end that they belong to.
#include <catch2/catch.hpp>

#include "controller/refused_batches.hpp"

namespace quell::controller {

namespace {

operation_id operation(std::uint8_t number) {
  operation_id id;
  id.bytes.back() = number;
  return id;
}

records::entry row(std::uint8_t number, status now, std::uint64_t ended_seq = 0) {
  records::operation_hot hot;
  hot.now = now;
  hot.ended_seq = ended_seq;
  return records::update_operation{operation(number), hot};
}

records::entry event(std::uint64_t id) {
  records::event_record e;
  e.id = id;
  return records::put_event{e};
}

} // namespace

TEST_CASE("a newer row makes the refused one void, and nothing else of its turn", "[refused]") {
  refused_batches kept;
  kept.add({{row(1, status::cancelling), event(5), row(2, status::cancelling)}, {}, {}});
  kept.overtaken_by(row_keys({row(1, status::cancelled, 9)}));
  const auto again = kept.take();
  REQUIRE(again.rows.size() == 2);
  CHECK(std::holds_alternative<records::put_event>(again.rows[0]));
  CHECK(std::get<records::update_operation>(again.rows[1]).id == operation(2));
  CHECK(kept.empty());
}

TEST_CASE("an operation and a cancel with the same bytes are two things", "[refused]") {
  records::cancel_record record;
  record.id.bytes = operation(1).bytes;
  CHECK(row_key(records::put_cancel{record}) != row_key(row(1, status::running)));
  CHECK(row_key(event(1)).empty());
}

TEST_CASE("a result is acknowledged with the end that waits, not before", "[refused]") {
  refused_batches kept;
  kept.add({{row(1, status::cancelling)}, {}, {}});
  CHECK_FALSE(kept.take_result("w1", operation(1))); // none of its ends is kept
  kept.add({{row(1, status::cancelled, 9)}, {}, {{operation(1), status::cancelled}}});
  CHECK(kept.take_result("w1", operation(1)));
  CHECK(kept.take_result("w1", operation(1))); // a repeat
  CHECK_FALSE(kept.take_result("w1", operation(2)));
  const auto again = kept.take();
  REQUIRE(again.stored.size() == 1);
  CHECK(again.stored.front().second == operation(1));
  CHECK(again.ended == std::vector<ended_operation>{{operation(1), status::cancelled}});
}

TEST_CASE("the highest reservation of a turn is found", "[refused]") {
  CHECK_FALSE(reservation({event(1)}));
  CHECK(reservation({records::reserve_seq{10}, event(1), records::reserve_seq{30}}) == 30);
}

} // namespace quell::controller
