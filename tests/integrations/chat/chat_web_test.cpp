// The loop of connectors over a real server: requests that were answered, that were certainly not sent, and whose fate
// is unknown.
#include <catch2/catch.hpp>

#include <future>

#include "integrations/chat/web.hpp"
#include "tests/integrations/http_server.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using quell::testing::http_ask;
using quell::testing::http_server;
using quell::testing::moves;
using move = quell::testing::move;
using namespace std::chrono_literals;

namespace {

std::string reply(const std::string& head, const std::string& body) {
  return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::unique_ptr<web_loop> running() {
  auto started = web_loop::start([](boot_time) { return std::optional<boot_time>{}; });
  REQUIRE(started);
  return std::move(*started);
}

web_response ask(web_loop& loop, web_request request) {
  auto promise = std::make_shared<std::promise<web_response>>();
  auto future = promise->get_future();
  loop.fetch(std::move(request), [promise](web_response r) { promise->set_value(std::move(r)); });
  REQUIRE(future.wait_for(quell::testing::test_bound) == std::future_status::ready);
  return future.get();
}

} // namespace

TEST_CASE("a request arrives as it was made, and its answer with status, headers and body", "[web]") {
  http_server server([](const http_ask&) {
    return moves{{move::kind::send, reply("429 Slow\r\nRetry-After: 1.5\r\nX-Odd:  y ", "later")}};
  });
  auto loop = running();
  const auto r = ask(*loop, {.url = server.url() + "/post", .headers = {"X-Test: a"}, .body = "{}"});
  CHECK(r.what == web_end::answered);
  CHECK(r.status == 429);
  CHECK_FALSE(r.is_good());
  CHECK(r.body == "later");
  CHECK(r.header("x-odd") == "y");
  CHECK(r.retry_after() == milliseconds{1500});
  REQUIRE(server.asks().size() == 1);
  CHECK(server.asks()[0].path == "/v1/post");
  CHECK(server.asks()[0].headers.at("x-test") == "a");
  CHECK(server.asks()[0].body == "{}");
}

TEST_CASE("where nobody listens nothing was sent; where the line breaks behind the request nobody knows", "[web]") {
  auto loop = running();
  CHECK(ask(*loop, {.url = "http://127.0.0.1:1/"}).what == web_end::not_sent);
  CHECK(ask(*loop, {.url = "gopher://127.0.0.1/"}).what == web_end::not_sent);
  http_server cuts([](const http_ask&) { return moves{{move::kind::reset, ""}}; });
  CHECK(ask(*loop, {.url = cuts.url(), .body = "{}"}).what == web_end::unknown);
  http_server half([](const http_ask&) {
    return moves{{move::kind::send, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}, {move::kind::close, ""}};
  });
  CHECK(ask(*loop, {.url = half.url(), .body = "{}"}).what == web_end::unknown);
  http_server silent([](const http_ask&) { return moves{{move::kind::wait, "", 60s}}; });
  CHECK(ask(*loop, {.url = silent.url(), .body = "{}", .timeout = milliseconds{3000}}).what == web_end::unknown);
  http_server long_winded([](const http_ask&) {
    return moves{{move::kind::send, reply("200 OK", std::string(5000, 'x'))}};
  });
  CHECK(ask(*loop, {.url = long_winded.url(), .body = "{}", .most_body = 1000}).what == web_end::unknown);
}

TEST_CASE("a request that is cancelled hangs up and calls nobody; so does the end of the loop", "[web]") {
  http_server silent([](const http_ask&) { return moves{{move::kind::wait, "", 60s}}; });
  auto loop = running();
  std::atomic<int> called = 0;
  const auto number = loop->fetch({.url = silent.url(), .body = "{}"}, [&](const web_response&) { ++called; });
  silent.until("the request", [&] { return silent.asks().size() == 1; });
  loop->run([&] { loop->cancel(number); });
  silent.until("the hang-up", [&] { return silent.hung_up() == 1; });
  loop->fetch({.url = silent.url(), .body = "{}"}, [&](const web_response&) { ++called; });
  silent.until("the second request", [&] { return silent.asks().size() == 2; });
  loop->stop();
  silent.until("the second hang-up", [&] { return silent.hung_up() == 2; });
  loop->run([&] { ++called; });
  loop->stop();
  CHECK(called == 0);
}

TEST_CASE("jobs run in order on one thread, and the loop is called again when it asked to be", "[web]") {
  std::vector<int> order;
  std::promise<void> again;
  int turns = 0;
  const auto first = web_loop::now();
  auto started = web_loop::start([&](boot_time now) -> std::optional<boot_time> {
    if (now < first + milliseconds{50}) return first + milliseconds{50};
    if (turns++ == 0) again.set_value();
    return std::nullopt;
  });
  REQUIRE(started);
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) (*started)->run([&order, i] { order.push_back(i); });
  (*started)->run([&] { done.set_value(); });
  REQUIRE(done.get_future().wait_for(quell::testing::test_bound) == std::future_status::ready);
  REQUIRE(again.get_future().wait_for(quell::testing::test_bound) == std::future_status::ready);
  (*started)->stop();
  CHECK(order.size() == 100);
  CHECK(std::is_sorted(order.begin(), order.end()));
}
