// Rows that a gateway thread keeps, and when they count as changed.
#include <catch2/catch.hpp>

#include "gateway/known_rows.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;
using namespace quell::controller::test;

namespace {

records::operation_record row_of(const operation_id& id, std::string title) {
  records::operation_record row;
  row.id = id;
  row.title = std::move(title);
  return row;
}

struct kept {
  std::shared_ptr<row_changes> changes = std::make_shared<row_changes>();
  known_rows rows{changes};
  operation_id id = operation_id::fresh();
};

} // namespace

TEST_CASE("a row is known until a commit changes it") {
  kept k;
  CHECK_FALSE(k.rows.find(k.id));
  k.rows.keep(row_of(k.id, "one"), k.rows.changes_of(k.id));
  REQUIRE(k.rows.find(k.id));
  CHECK(k.rows.find(k.id)->row.title == "one");
  k.changes->note(k.id);
  CHECK_FALSE(k.rows.find(k.id));
  k.rows.keep(row_of(k.id, "two"), k.rows.changes_of(k.id));
  REQUIRE(k.rows.find(k.id));
  CHECK(k.rows.find(k.id)->row.title == "two");
}

TEST_CASE("a row that changed while it was read is not known") {
  kept k;
  const auto before = k.rows.changes_of(k.id);
  k.changes->note(k.id);
  k.rows.keep(row_of(k.id, "old"), before);
  CHECK_FALSE(k.rows.find(k.id));
}

TEST_CASE("the text of a row is kept for this row alone") {
  kept k;
  const auto row = row_of(k.id, "one");
  k.rows.keep_text(row, "nobody knows the row");
  CHECK_FALSE(k.rows.find(k.id));
  k.rows.keep(row, k.rows.changes_of(k.id));
  k.rows.keep_text(row_of(k.id, "another"), "another row");
  CHECK_FALSE(k.rows.find(k.id)->text);
  k.rows.keep_text(row, "its text");
  REQUIRE(k.rows.find(k.id)->text);
  CHECK(*k.rows.find(k.id)->text == "its text");
  k.changes->note(k.id);
  k.rows.keep_text(row, "late");
  CHECK_FALSE(k.rows.find(k.id));
  k.rows.keep(row, k.rows.changes_of(k.id));
  CHECK_FALSE(k.rows.find(k.id)->text);
}

TEST_CASE("large rows are not kept, nor any without counts of changes") {
  kept k;
  auto row = row_of(k.id, "large");
  row.hot.result.assign(100'000, 'x');
  k.rows.keep(row, k.rows.changes_of(k.id));
  CHECK_FALSE(k.rows.find(k.id));
  known_rows without(nullptr);
  without.keep(row_of(k.id, "one"), without.changes_of(k.id));
  CHECK_FALSE(without.find(k.id));
}

TEST_CASE("only so many rows are kept, the newest") {
  kept k;
  std::vector<operation_id> all;
  for (int i = 0; i < 3000; ++i) {
    all.push_back(operation_id::fresh());
    k.rows.keep(row_of(all.back(), "row"), k.rows.changes_of(all.back()));
  }
  CHECK_FALSE(k.rows.find(all.front()));
  CHECK(k.rows.find(all.back()));
}

TEST_CASE("an operation that is asked for again and again shows each change, and its end") {
  gateway_world world;
  const auto made =
      world.post("/v1/operations", R"({"kind":"task","scope":"team","task":{"command":["true"]}})").json();
  const auto path = "/v1/operations/" + made["id"].get<std::string>();
  for (int i = 0; i < 3; ++i) CHECK(world.get(path).json()["status"] == "pending");
  world.controller->end_operation(*operation_id::parse(made["id"].get<std::string>()), status::completed);
  const auto ended = world.get(path);
  CHECK(ended.json()["status"] == "completed");
  for (int i = 0; i < 3; ++i) CHECK(world.get(path).body == ended.body);
}

TEST_CASE("a kept text is not for callers who may not see the operation") {
  gateway_world world;
  const auto made =
      world.post("/v1/operations", R"({"kind":"task","scope":"team","task":{"command":["true"]}})").json();
  const auto path = "/v1/operations/" + made["id"].get<std::string>();
  world.controller->end_operation(*operation_id::parse(made["id"].get<std::string>()), status::completed);
  for (int i = 0; i < 3; ++i) CHECK(world.get(path).status == 200);
  const auto inside = world.token("observer", "team"), outside = world.token("observer", "other");
  CHECK(world.ask("GET", path, gateway_world::with(inside)).status == 200);
  const auto refused = world.ask("GET", path, gateway_world::with(outside));
  CHECK(refused.status == 404);
  CHECK(refused.code() == "operation_not_found");
}

TEST_CASE("the text of a live operation is kept until something happens in the core") {
  const auto changes = std::make_shared<row_changes>();
  const auto core = std::make_shared<core_activity>();
  known_rows rows(changes, core);
  const auto id = operation_id::fresh();
  const auto before = rows.activity();
  rows.keep_live_text(id, "nobody knows the row", before);
  CHECK_FALSE(rows.find(id));
  rows.keep(row_of(id, "one"), rows.changes_of(id));
  CHECK_FALSE(rows.text_of(*rows.find(id)));
  rows.keep_live_text(id, "live", before);
  REQUIRE(rows.text_of(*rows.find(id)));
  CHECK(*rows.text_of(*rows.find(id)) == "live");
  core->note();
  CHECK_FALSE(rows.text_of(*rows.find(id)));
  rows.keep_live_text(id, "asked before that", before);
  CHECK_FALSE(rows.text_of(*rows.find(id)));
  rows.keep_live_text(id, "asked since", rows.activity());
  REQUIRE(rows.text_of(*rows.find(id)));
  changes->note(id);
  CHECK_FALSE(rows.find(id));
}

TEST_CASE("an operation that waits is answered alike until something happens in the core") {
  const auto core = std::make_shared<core_activity>();
  gateway_world world([&](gateway_options& o) { o.activity = core; });
  const auto made =
      world.post("/v1/operations", R"({"kind":"task","scope":"team","task":{"command":["true"]}})").json();
  const auto id = *operation_id::parse(made["id"].get<std::string>());
  const auto path = "/v1/operations/" + id.text();
  const auto since = [&](const std::string& query) { return world.get(path + query).json()["waiting_for"]; };
  const auto waits_for = [&](std::string what) {
    world.controller->change_operation(id, [&](live_view& v) { v.waiting = waiting_for{"slot", {}, what}; });
  };
  waits_for("one");
  core->note();
  CHECK(since("")["detail"] == "one");
  waits_for("two"); // of which the core has told nobody
  CHECK(since("")["detail"] == "one");
  CHECK(since("?wait=ended&wait_ms=0")["detail"] == "two");
  core->note();
  CHECK(since("")["detail"] == "two");
  const auto outside = world.token("observer", "other");
  CHECK(world.ask("GET", path, gateway_world::with(outside)).status == 404);
}

TEST_CASE("an operation that is stopped, or has output, is asked for each time") {
  const auto core = std::make_shared<core_activity>();
  gateway_world world([&](gateway_options& o) { o.activity = core; });
  const auto made =
      world.post("/v1/operations", R"({"kind":"task","scope":"team","task":{"command":["true"]}})").json();
  const auto id = *operation_id::parse(made["id"].get<std::string>());
  const auto path = "/v1/operations/" + id.text();
  const auto change = [&](const std::function<void(live_view&)>& how) { world.controller->change_operation(id, how); };
  const auto detail = [&] { return world.get(path).json()["waiting_for"]["detail"]; };
  const auto expect_fresh = [&] {
    change([](live_view& v) { v.waiting = waiting_for{"slot", {}, "before"}; });
    CHECK(detail() == "before");
    change([](live_view& v) { v.waiting = waiting_for{"slot", {}, "after"}; });
    CHECK(detail() == "after");
  };
  change([](live_view& v) { v.hot.started_at = wall_time{}; });
  expect_fresh();
  change([](live_view& v) {
    v.hot.started_at.reset();
    v.hot.stop = records::stop_state{};
  });
  expect_fresh();
}
