// Streams of events beside the store: their reads of it, and the events that come while they begin or wait for it.
#include <catch2/catch.hpp>

#include <deque>

#include "tests/gateway/event_client.hpp"
#include "tests/gateway/watched_store.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using reads = store_watch::kind;

namespace {

/// A gateway whose readers the test holds; they go on before it ends, whatever fails.
struct watched_world {
  explicit watched_world(const std::function<void(gateway_options&)>& change = {}, std::size_t keep_events = 1000)
      : world(
            [this, change](gateway_options& o) {
              watch.watch(o);
              if (change) change(o);
            },
            keep_events) {}
  ~watched_world() {
    watch.release();
    world.output.release();
  }

  /// Commits an event; returns its id as streams write it.
  std::string happens() {
    records::event_record event;
    event.type = event_type::worker_joined;
    event.data = "{}";
    return std::to_string(world.controller->add_event(std::move(event)));
  }
  std::string happens(int times) {
    std::string newest;
    for (int i = 0; i < times; ++i) newest = happens();
    return newest;
  }
  /// A stream whose answer nobody has read yet.
  http_client& ask(const std::string& target = "/v1/events", const std::string& last = {}) {
    auto& client = clients.emplace_back(world.front->port());
    client.send_request("GET", target, gateway_world::watching(last));
    return client;
  }
  /// Whether this metric comes to that value.
  bool counts(const std::string& metric, int value) {
    const auto wanted = "\n" + metric + " " + std::to_string(value) + "\n";
    const auto deadline = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds(20));
    while (std::chrono::steady_clock::now() < deadline)
      if (world.get("/metrics").body.find(wanted) != std::string::npos) return true;
    return false;
  }

  store_watch watch;
  gateway_world world;
  std::deque<http_client> clients;
};

} // namespace

TEST_CASE("streams that begin now, or behind the newest event, read no events", "[event_reads]") {
  watched_world w;
  const auto newest = w.happens(20);
  const auto pages = w.watch.begun(reads::events), newest_reads = w.watch.begun(reads::newest_event);
  std::deque<std::unique_ptr<http_client>> streams;
  for (int i = 0; i < 50; ++i) streams.push_back(watch(w.world, "/v1/events", i % 2 == 0 ? "" : newest));
  const auto next = w.happens();
  for (auto& stream : streams) CHECK(next_event(*stream).id == next);
  CHECK(w.watch.begun(reads::events) == pages);
  CHECK(w.watch.begun(reads::newest_event) == newest_reads + 50);
}

TEST_CASE("an event that is committed while a stream begins comes once at most", "[event_reads]") {
  watched_world w;
  const auto before = w.happens();
  w.watch.hold(reads::newest_event);
  const bool resumes = GENERATE(false, true);
  auto& stream = w.ask("/v1/events", resumes ? before : "");
  w.watch.wait_until_held(reads::newest_event);
  const auto meanwhile = w.happens(); // in the store that is then read, and in the queue
  w.watch.release();
  REQUIRE(stream.read_head().status == 200);
  const auto behind = w.happens();
  if (resumes) CHECK(next_event(stream).id == meanwhile);
  CHECK(next_event(stream).id == behind);
  CHECK(next_event(*watch(w.world, "/v1/events", meanwhile)).id == behind);
}

TEST_CASE("an event behind the head of a stream comes, though its thread has not come to the stream", "[event_reads]") {
  watched_world w;
  const auto id = w.world.controller->start_operation("team");
  w.world.output.write(id, stream::out, "before");
  w.world.output.hold_watchers();
  auto follower = w.world.connect();
  follower.send_request("GET", "/v1/operations/" + id.text() + "/output?follow=true", gateway_world::admin());
  REQUIRE(follower.read_head().status == 200);
  w.world.output.wait_until_held(); // and with it the thread of all streams
  auto& stream = w.ask();
  REQUIRE(stream.read_head().status == 200);
  const auto behind = w.happens();
  w.world.output.release();
  CHECK(w.counts("quell_http_event_streams", 1));
  w.happens();
  CHECK(next_event(stream).id == behind);
  CHECK(w.watch.begun(reads::events) == 0);
}

TEST_CASE("a replay reads what had happened when it was asked for, and the rest comes by itself", "[event_reads]") {
  watched_world w;
  const auto before = w.happens(3);
  w.watch.hold(reads::events);
  auto& stream = w.ask("/v1/events?after=0");
  w.watch.wait_until_held(reads::events);
  CHECK(w.watch.last_bound() == std::stoull(before));
  const auto last = w.happens(3);
  w.watch.release();
  REQUIRE(stream.read_head().status == 200);
  for (auto id = std::stoull(before) - 2; id <= std::stoull(last); ++id)
    CHECK(next_event(stream).id == std::to_string(id));
  CHECK(w.watch.last_bound() == std::stoull(before));
}

TEST_CASE("a stream that lags while it waits for the store goes on from the store", "[event_reads]") {
  watched_world w([](gateway_options& o) { o.max_lag_events = 2; });
  const auto before = w.happens(3);
  w.watch.hold(reads::events);
  auto& stream = w.ask("/v1/events?after=0");
  w.watch.wait_until_held(reads::events);
  const auto last = w.happens(8);
  CHECK(w.counts("quell_event_streams_lost_total", 1));
  w.watch.release();
  REQUIRE(stream.read_head().status == 200);
  for (auto id = std::stoull(before) - 2; id <= std::stoull(last); ++id)
    REQUIRE(next_event(stream).id == std::to_string(id));
  CHECK_FALSE(w.watch.last_bound());
}

TEST_CASE("a stream that waited until its events were no longer kept is cut, and shows no gap", "[event_reads]") {
  watched_world w({}, 50);
  const auto first = w.happens();
  w.happens();
  w.watch.hold(reads::events);
  auto& stream = w.ask("/v1/events", first);
  w.watch.wait_until_held(reads::events);
  unsigned status = 200;
  for (int i = 0; i < 100 && status == 200; ++i) { // the store prunes in steps
    w.happens(100);
    auto resumes = w.world.connect();
    resumes.send_request("GET", "/v1/events", gateway_world::watching(first));
    status = resumes.read_head().status;
  }
  REQUIRE(status == 410);
  w.watch.release();
  REQUIRE(stream.read_head().status == 200);
  CHECK_THROWS(next_event(stream));
}

TEST_CASE("a stream that waits for the store says so, and goes on", "[event_reads]") {
  watched_world w([](gateway_options& o) { o.comment_interval = milliseconds{20}; });
  const auto before = w.happens();
  w.watch.hold(reads::events);
  auto& stream = w.ask("/v1/events?after=0");
  REQUIRE(stream.read_head().status == 200);
  CHECK(stream.read_until("\n\n") == "retry: 1000\n\n");
  for (int i = 0; i < 3; ++i) CHECK(stream.read_until("\n\n") == ": still here\n\n");
  w.watch.release();
  CHECK(next_event(stream).id == before);
}

TEST_CASE("a stream ends with its client while it waits for the store, and its read with it", "[event_reads]") {
  watched_world w([](gateway_options& o) { o.comment_interval = milliseconds{3'600'000}; });
  w.happens();
  w.watch.hold(reads::events);
  w.ask("/v1/events?after=0");
  w.watch.wait_until_held(reads::events);
  CHECK(w.counts("quell_http_event_streams", 1));
  w.clients.clear();
  CHECK(w.counts("quell_http_event_streams", 0));
  w.watch.release();
  w.watch.wait_until_pages_abandoned(1);
}
