// Cancel: the server sees the hang-up, no event follows, `closed` is called exactly once.
#include <catch2/catch.hpp>

#include <netdb.h>

#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

std::mutex lookup_guard;
std::condition_variable lookup_changed;
bool lookup_begun = false, lookup_released = false;

moves endless() {
  moves all{chunked_head()};
  for (int i = 0; i < 3'000; ++i) {
    all.push_back(chunk(text_piece("x")));
    all.push_back(quell::testing::pause(2ms));
  }
  return all;
}

} // namespace

// Overrides the C library's function: the look-up of slow.test takes as long as a test wants, and no other name is
// known.
extern "C" int getaddrinfo(const char* node, const char*, const addrinfo*, addrinfo**) {
  if (node && std::string_view(node) == "slow.test") {
    std::unique_lock lock(lookup_guard);
    lookup_begun = true;
    lookup_changed.notify_all();
    lookup_changed.wait_for(lock, test_bound, [] { return lookup_released; });
    return EAI_FAIL;
  }
  return EAI_NONAME;
}

TEST_CASE("a cancelled call hangs up at once: while it streams, in silence, and before the first byte") {
  http_server server([](const http_ask& ask) -> moves {
    if (ask.body.find("silent") != std::string::npos) return {};
    if (ask.body.find("head only") != std::string::npos) return {chunked_head()};
    if (ask.body.find("one word") != std::string::npos) return {chunked_head(), chunk(text_piece("word"))};
    return endless();
  });
  auto client = open_client();
  std::size_t hung_up = 0;
  for (const std::string text : {"silent", "head only", "one word", "endless"}) {
    INFO(text);
    event_recorder recorder;
    closings closed;
    const auto call = client->ask(settings_for(server.url()), asking(text), recorder.listener());
    if (text == "one word" || text == "endless") recorder.wait_for<model_events::text>("a text");
    server.until("the request", [&] { return server.asks().size() == hung_up + 1; });
    const auto from = steady::now();
    call->cancel(closed.one());
    const auto events_before = recorder.events().size();
    closed.wait_for(1);
    server.until("the hang-up", [&] { return server.hung_up() == hung_up + 1 && server.open() == 0; });
    WARN("hang-up seen by the server "
         << std::chrono::duration_cast<std::chrono::microseconds>(server.last_hang_up() - from).count()
         << " us after cancel (" << text << ")");
    CHECK(recorder.events().size() == events_before);
    CHECK(closed.count() == 1);
    ++hung_up;
  }
}

TEST_CASE("a cancelled call is never tried again, also from within its back-off") {
  http_server server([](const http_ask&) -> moves { return {whole(503, "{}")}; });
  auto client = open_client();
  auto settings = settings_for(server.url());
  settings.first_backoff = settings.longest_backoff = 60s;
  event_recorder recorder;
  closings closed;
  const auto call = client->ask(settings, asking("x"), recorder.listener());
  recorder.wait_for<model_events::retrying>("a back-off");
  call->cancel(closed.one());
  closed.wait_for(1);
  CHECK(recorder.events().size() == 1);
  CHECK(server.asks().size() == 1);
}

TEST_CASE("a call can be cancelled before it connects, right after asking, and by dropping it") {
  http_server server([](const http_ask&) { return endless(); });
  auto client = open_client();
  event_recorder recorder;
  closings closed;
  for (int i = 0; i < 200; ++i) {
    const auto call = client->ask(settings_for(server.url()), asking("x"), recorder.listener());
    if (i % 2 == 0) call->cancel(closed.one());
  }
  closed.wait_for(100);
  const auto last = client->ask(settings_for("http://192.0.2.1:9/v1"), asking("x"), recorder.listener());
  last->cancel(closed.one());
  closed.wait_for(101);
  server.until("all connections to be closed", [&] { return server.open() == 0; });
  CHECK(recorder.all<model_events::failed>().empty());
}

TEST_CASE("a cancel does not wait for a name that is being looked up") {
  auto client = open_client();
  event_recorder recorder;
  closings closed;
  auto call = client->ask(settings_for("http://slow.test/v1"), asking("x"), recorder.listener());
  {
    std::unique_lock lock(lookup_guard);
    REQUIRE(lookup_changed.wait_for(lock, test_bound, [] { return lookup_begun; }));
  }
  call->cancel(closed.one());
  closed.wait_for(1); // while the look-up runs
  {
    const std::lock_guard lock(lookup_guard);
    CHECK_FALSE(lookup_released);
    lookup_released = true;
    lookup_changed.notify_all();
  }
  CHECK(recorder.events().empty());
}

TEST_CASE("cancelled many times, from many threads and after the end: each closed is called once") {
  http_server server([](const http_ask&) -> moves {
    return {chunked_head(), chunk(text_piece("x") + end_piece()), last_chunk()};
  });
  auto client = open_client();
  event_recorder recorder;
  closings closed;
  const auto call = client->ask(settings_for(server.url()), asking("x"), recorder.listener());
  recorder.wait_for_end();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { call->cancel(closed.one()); });
  threads.clear();
  closed.wait_for(8);
  CHECK(closed.count() == 8);
  CHECK(closed.thread() != std::this_thread::get_id());
}

TEST_CASE("a listener may cancel its own call, and hears nothing more") {
  http_server server([](const http_ask&) -> moves {
    return {chunked_head(), chunk(text_piece("1") + text_piece("2") + text_piece("3") + end_piece()), last_chunk()};
  });
  auto client = open_client();
  closings closed;
  std::mutex guard;
  std::unique_ptr<model_call> call;
  std::atomic<int> events = 0;
  {
    const std::lock_guard lock(guard);
    call = client->ask(settings_for(server.url()), asking("x"), [&](model_event) {
      const std::lock_guard inside(guard);
      if (++events == 2) call->cancel(closed.one());
    });
  }
  closed.wait_for(1);
  CHECK(events == 2);
}

TEST_CASE("once cancel returns the listener is not running and never runs again") {
  http_server server([](const http_ask&) { return endless(); });
  auto client = open_client();
  for (int i = 0; i < 100; ++i) {
    auto alive = std::make_unique<std::atomic<int>>(0);
    std::atomic<bool> any = false;
    auto* counter = alive.get();
    const auto call = client->ask(settings_for(server.url()), asking("x"), [counter, &any](model_event) {
      ++*counter; // freed memory if an event came too late: the sanitizers would report it
      any = true;
      any.notify_all();
      ++*counter;
    });
    if (i % 2 == 0) any.wait(false);
    call->cancel(nullptr);
    CHECK(*alive % 2 == 0);
    alive.reset();
  }
}

TEST_CASE("the end of the client closes everything, and calls may outlive it") {
  http_server server([](const http_ask&) { return endless(); });
  const std::size_t before = descriptors();
  event_recorder recorder;
  closings closed;
  auto client = open_client();
  auto running = client->ask(settings_for(server.url()), asking("x"), recorder.listener());
  auto cancelled = client->ask(settings_for(server.url()), asking("x"), recorder.listener());
  recorder.wait_for<model_events::text>("a text");
  cancelled->cancel(closed.one());
  client.reset();
  CHECK(closed.count() == 1);
  const auto events_before = recorder.events().size();
  server.until("the hang-ups", [&] { return server.open() == 0; });
  running->cancel(closed.one());
  CHECK(closed.count() == 2);
  running.reset();
  cancelled.reset();
  CHECK(recorder.events().size() == events_before);
  CHECK(descriptors() == before);
}

TEST_CASE("1,000 streams cancelled at once: every socket closed, every closed called once") {
  constexpr std::size_t count = 1000;
  http_server server([](const http_ask& ask) -> moves {
    moves slow{chunked_head(), chunk(text_piece("x"))};
    if (ask.number % 2 == 0) return slow; // half of them are silent, half of them send text
    for (int i = 0; i < 60; ++i) {
      slow.push_back(quell::testing::pause(1s));
      slow.push_back(chunk(text_piece("x")));
    }
    return slow;
  });
  auto client = open_client();
  const std::size_t before = descriptors();
  std::vector<event_recorder> recorders(count);
  std::vector<std::unique_ptr<model_call>> calls;
  for (std::size_t i = 0; i < count; ++i)
    calls.push_back(client->ask(settings_for(server.url()), asking("x"), recorders[i].listener()));
  for (const event_recorder& one : recorders) one.wait_for<model_events::text>("the first text of 1,000 streams");
  CHECK(server.open() == count);
  closings closed;
  const auto from = steady::now();
  for (const auto& call : calls) call->cancel(closed.one());
  const auto all_requested = steady::now();
  closed.wait_for(count);
  const auto us = [&](steady::time_point at) {
    return std::chrono::duration_cast<std::chrono::microseconds>(at - from).count();
  };
  WARN("1,000 cancels: asked for in " << us(all_requested) << " us, last closed called after " << us(closed.last())
                                      << " us");
  std::vector<std::size_t> events_before;
  for (const event_recorder& one : recorders) events_before.push_back(one.events().size());
  server.until("1,000 hang-ups", [&] { return server.open() == 0; });
  WARN("last hang-up seen by the server after " << us(server.last_hang_up()) << " us");
  CHECK(server.hung_up() == count);
  CHECK(descriptors() == before);
  CHECK(closed.count() == count);
  for (std::size_t i = 0; i < count; ++i) CHECK(recorders[i].events().size() == events_before[i]);
  calls.clear();
  CHECK(closed.count() == count);
}
