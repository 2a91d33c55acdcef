// Requests beside readers of the store that are busy, or that fail: rows by id and cancels wait for no list, lists
// nobody waits for are not read, and what the store says after a cancel does not put the cancel in doubt.
#include <catch2/catch.hpp>

#include <deque>
#include <future>

#include "tests/gateway/watched_store.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using json = nlohmann::json;

namespace {

constexpr unsigned list_readers = 1, brief_readers = 2, row_readers = 2;

/// A gateway whose readers the test holds and breaks; they go on before it ends, whatever fails.
struct watched_world {
  store_watch watch;
  gateway_world world{[this](gateway_options& o) {
    o.readers = list_readers;
    watch.watch(o);
  }};
  std::deque<http_client> clients;
  ~watched_world() { watch.release(); }

  void send(const std::string& target, const std::string& token, int times) {
    for (int i = 0; i < times; ++i)
      clients.emplace_back(world.front->port()).send_request("GET", target, gateway_world::with(token));
  }
  operation_id ended() {
    const auto id = world.controller->start_operation("team", {}, "crawler");
    world.controller->end_operation(id, status::completed);
    return id;
  }
  /// Each reader of lists reads one until the test lets it go on.
  void keep_all_list_readers_busy() {
    const auto one = world.token("observer"), other = world.token("operator");
    watch.hold_lists();
    // One brief try of a caller at a time; the lists beyond the few that may wait for one are read in full.
    send("/v1/operations", one, 8);
    send("/v1/operations", other, 1);
    watch.wait_until_lists_held(list_readers + brief_readers);
  }
};

bool leaves_it_open(const http_reply& answer) { return answer.status != 200 && answer.status != 202; }

} // namespace

TEST_CASE("while lists keep their readers busy, what has ended is read by id and its cancel is answered",
          "[store_reads]") {
  watched_world w;
  const auto id = w.ended();
  w.keep_all_list_readers_busy();
  const auto row = w.world.get("/v1/operations/" + id.text());
  CHECK(row.status == 200);
  CHECK(row.json()["title"] == "crawler");
  const auto other = w.ended(); // no row of which anybody knows anything yet
  const auto cancel = w.world.post("/v1/operations/" + other.text() + "/cancel", "");
  CHECK(cancel.status == 200);
  CHECK(cancel.json()["outcome"] == "already_finished");
  w.watch.release();
  for (auto& client : w.clients) CHECK(client.read_reply().status == 200);
}

TEST_CASE("while rows by id keep their readers busy, too, a cancel of what has ended is answered", "[store_reads]") {
  watched_world w;
  const auto slow = w.ended(), id = w.ended();
  w.keep_all_list_readers_busy();
  w.watch.hold_row(slow);
  w.send("/v1/operations/" + slow.text(), admin_secret, row_readers);
  w.watch.wait_until_rows_held(row_readers);
  const auto by_path = w.world.post("/v1/operations/" + id.text() + "/cancel", "");
  CHECK(by_path.status == 200);
  CHECK(by_path.json()["outcome"] == "already_finished");
  const auto chosen = cancel_id::fresh().text();
  const auto with_id = w.world.post("/v1/cancels", json{{"id", chosen}, {"operation", w.ended().text()}}.dump());
  CHECK_FALSE(leaves_it_open(with_id)); // the played core does not know that it has ended
  CHECK(with_id.json()["id"] == chosen);
  w.watch.release();
  for (auto& client : w.clients) CHECK(client.read_reply().status == 200);
}

TEST_CASE("lists whose clients have left are not read, and those of others are", "[store_reads]") {
  watched_world w;
  w.ended();
  const auto leaver = w.world.token("observer"), other = w.world.token("operator");
  constexpr int left = 12;
  w.watch.hold_lists();
  w.send("/v1/operations", leaver, left);
  w.watch.wait_until_lists_held(2);               // a brief try and one in full; the others wait
  REQUIRE(w.world.get("/healthz").status == 200); // every earlier request has been read by then
  w.clients.clear();
  w.watch.expect_that_clients_leave(true);
  w.watch.release();
  w.watch.wait_until_ended(left);
  CHECK(w.watch.lists_read() == 0);
  CHECK(w.watch.lists_abandoned() == left);
  w.watch.expect_that_clients_leave(false);
  for (const auto& token : {leaver, other})
    CHECK(w.world.ask("GET", "/v1/operations", gateway_world::with(token)).status == 200);
  CHECK(w.watch.lists_read() == 2);
}

TEST_CASE("a new external operation is shown without a read of the store", "[store_reads]") {
  watched_world w;
  const std::string body = R"({"kind":"external","scope":"team","title":"crawler"})";
  w.watch.fail();
  const auto made = w.world.post("/v1/operations", body);
  REQUIRE(made.status == 201);
  CHECK(made.json()["title"] == "crawler");
  CHECK(made.json()["waiting_for"]["what"] == "slot");
  CHECK(w.world.get(made.header("location")).status == 503);
}

TEST_CASE("a cancel that was performed is answered as performed, though the store cannot be read", "[store_reads]") {
  watched_world w;
  auto& controller = *w.world.controller;
  const auto id = controller.start_operation("team", {}, "crawler");
  SECTION("of a scope, at its fence") {
    w.watch.fail();
    const auto answer = w.world.post("/v1/cancels", R"({"scope":"team","reason":"wrong branch"})");
    REQUIRE_FALSE(leaves_it_open(answer));
    CHECK(answer.json()["outcome"] == "stopping");
    CHECK(answer.json()["reason"] == "wrong branch");
    CHECK(answer.json()["report"]["unproven"][0]["operation"] == id.text());
    CHECK(answer.json()["report"]["unproven"][0]["title"] == "");
  }
  SECTION("of one operation") {
    w.watch.fail();
    const auto answer = w.world.post("/v1/operations/" + id.text() + "/cancel", "");
    REQUIRE_FALSE(leaves_it_open(answer));
    CHECK(answer.json()["outcome"] == "stopping");
  }
  SECTION("whose client waits until it has settled") {
    auto waiting = w.world.connect();
    const auto chosen = cancel_id::fresh();
    waiting.send_request("POST", "/v1/cancels", gateway_world::admin(),
                         json{{"id", chosen.text()}, {"scope", "team"}, {"wait", "settled"}}.dump());
    for (int i = 0; i < 2000 && w.world.get("/v1/cancels/" + chosen.text()).status != 200; ++i) {
    }
    w.watch.fail();
    controller.end_operation(id, status::cancelled, chosen);
    controller.move_cancel(chosen, cancel_status::settled);
    const auto answer = waiting.read_reply();
    REQUIRE_FALSE(leaves_it_open(answer));
    CHECK(answer.json()["id"] == chosen.text());
    CHECK(answer.json()["outcome"] == "stopping");
    CHECK(answer.json()["status"] != "settled"); // of which nobody could tell
  }
  CHECK(controller.cancels().size() == 1);
}

TEST_CASE("a turn that was stopped by its alias is answered as stopped, though the store cannot be read any more",
          "[store_reads]") {
  watched_world w;
  auto& controller = *w.world.controller;
  create_order order;
  order.kind = kind::turn;
  order.scope = *scope_path::parse("team");
  std::promise<operation_id> made;
  controller.create(order, [&](outcome<created> c) { made.set_value(c->id); });
  const auto id = made.get_future().get();
  w.watch.hold_row(id);
  auto client = w.world.connect();
  client.send_request("POST", "/api/turns/" + id.text() + "/abort", gateway_world::admin());
  w.watch.wait_until_rows_held(1);
  controller.touch_operation(id); // so that the row must be read again after the cancel
  w.watch.fail();
  w.watch.release();
  const auto answer = client.read_reply();
  CHECK(answer.status == 200);
  CHECK(answer.json() == json{{"ok", true}, {"turnId", id.text()}});
  CHECK(controller.cancels().size() == 1);
}
