// Inputs that approvers changed: the first one is kept, and comes back with the call and with its operation.
#include <catch2/catch.hpp>

#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

struct changed_store {
  temp_directory directory;
  store s{directory.path()};
  message_record answer = message(1, "a", message_role::assistant);
  call_record made = call(answer, 0);
  operation_record row = operation(2, "a");

  changed_store() {
    row.kind = kind::tool_call;
    row.task = {};
    row.kind_data = R"({"call":"c"})";
    made.operation = row.id;
    REQUIRE_FALSE(s.write({put_message{answer}, put_operation{row}, put_call{made}}));
  }
  call_record call_again() const {
    const auto page =
        open_reader(directory.path()).value()->messages({.scope = scope("a"), .aside_of = {}, .above_seq = {}});
    return page.value().at(0).calls.at(0);
  }
  operation_record row_again() const {
    return open_reader(directory.path()).value()->operation(row.id).value().value();
  }
};

} // namespace

TEST_CASE("a changed input is read with the call and with its operation, also after a restart") {
  changed_store w;
  CHECK(w.call_again().changed.empty());
  CHECK(w.row_again() == w.row);
  REQUIRE_FALSE(w.s.write({put_call_change{w.row.id, "first"}, put_call_change{w.row.id, "second"}}));
  REQUIRE_FALSE(w.s.write({put_call_change{w.row.id, "third"}}));
  w.row.call_change = w.made.changed = "first"; // the decision that counted
  CHECK(w.call_again() == w.made);
  CHECK(w.row_again() == w.row);
  w.s.log->close();
  const store again(w.directory.path());
  CHECK(again.recovered.live == std::vector{w.row});
  CHECK(w.call_again() == w.made);
}

TEST_CASE("a change of another call is not read with this one") {
  changed_store w;
  REQUIRE_FALSE(w.s.write({put_call_change{operation_id::fresh(), "other"}}));
  CHECK(w.row_again() == w.row);
}
