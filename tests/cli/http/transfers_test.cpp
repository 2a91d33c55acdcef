// Transfers over real sockets: bodies, pauses, and what callbacks may do.
#include <future>

#include "tests/cli/http/fetching.hpp"
#include "tests/cli/http/scripted_server.hpp"

using namespace quell::cli;
using namespace quell::cli::test;
using quell::milliseconds;

namespace {

std::string numbered(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += std::to_string(1'000'000 + i) + "\n";
  return text;
}

/// Answers every request of a connection with the same text.
scripted_server::script always(const std::string& text) {
  return [text](served& c) {
    while (!c.request().empty()) c.send(text);
  };
}

} // namespace

TEST_CASE("a request and its answer arrive as they are") {
  std::string seen;
  scripted_server server([&](served& c) {
    seen = c.request();
    c.send(answer_of("accepted", 202, "Retry-After: 3\r\n"));
  });
  event_loop loop;
  auto request = request_for(server.url("/v1/x?y=1"), "POST");
  request.body = std::string("\0{}", 3);
  request.headers = {"Authorization: Bearer t"};
  const auto got = fetch(loop, request);
  CHECK(got.end->error == "");
  CHECK(got.end->head.status == 202);
  CHECK(got.end->head.headers.at("retry-after") == "3");
  CHECK(got.body == "accepted");
  CHECK(seen.starts_with("POST /v1/x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n"));
  CHECK(seen.find("Authorization: Bearer t\r\n") != std::string::npos);
  CHECK(seen.ends_with(std::string("\r\n\r\n\0{}", 7)));
}

TEST_CASE("trailers come with the end, interim answers are not told") {
  scripted_server server(always("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "3\r\none\r\n3\r\ntwo\r\n0\r\nQuell-End: true\r\n\r\n"));
  event_loop loop;
  for (int i = 0; i < 2; ++i) {
    const auto got = fetch(loop, request_for(server.url("/")));
    CHECK(got.heads == 1);
    CHECK(got.first_head.status == 200);
    CHECK_FALSE(got.first_head.headers.contains("quell-end"));
    CHECK(got.end->head.headers.at("quell-end") == "true");
    CHECK(got.body == "onetwo");
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("a paused transfer delivers the same bytes again, and loses none while the server ends") {
  const auto text = numbered(40'000);
  scripted_server server([&](served& c) {
    c.request();
    c.send("HTTP/1.1 200 OK\r\n\r\n" + text); // until the end of the connection
  });
  event_loop loop;
  transfer_log log;
  auto sink = sink_into(log);
  event_loop::handle transfer = 0;
  std::string refused;
  int pauses = 0, calls = 0;
  sink.body = [&](std::string_view bytes) {
    if (!refused.empty())
      CHECK(std::exchange(refused, {}) == bytes);
    else if (++calls % 3 == 0) {
      refused = bytes;
      ++pauses;
      loop.after(milliseconds{1}, [&] {
        loop.resume(transfer);
        loop.resume(transfer);
      });
      return false;
    }
    log.body += bytes;
    return true;
  };
  transfer = loop.start(request_for(server.url("/")), sink);
  loop.resume(transfer); // not paused: no effect
  run_bounded(loop, [&] { return log.end.has_value(); });
  CHECK(log.end->error == "");
  CHECK(log.body == text);
  CHECK(pauses > 5);
}

TEST_CASE("an abandoned transfer calls nothing back and closes its connection") {
  std::promise<bool> closed;
  scripted_server server([&](served& c) {
    c.request();
    c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome");
    closed.set_value(c.client_closes());
  });
  event_loop loop;
  {
    transfer_log log;
    event_loop::handle transfer = 0;
    bool timer_ran = false;
    const auto where = GENERATE(as<std::string>(), "before it began", "its head", "its body", "a timer");
    CAPTURE(where);
    auto sink = sink_into(log);
    const auto drop = [&] {
      loop.abandon(transfer);
      loop.after(milliseconds{20}, [&] { timer_ran = true; });
    };
    if (where == "its head") sink.head = [&](const http_head&) { drop(); };
    if (where == "its body")
      sink.body = [&](std::string_view) {
        drop();
        return true;
      };
    transfer = loop.start(request_for(server.url("/")), sink);
    if (where == "before it began") drop();
    if (where == "a timer") loop.after(milliseconds{500}, drop); // by then it has begun
    run_bounded(loop, [&] { return timer_ran; });
    CHECK_FALSE(log.end);
    loop.abandon(transfer);
    loop.resume(transfer);
    if (where == "before it began") return; // there is no connection
  }
  CHECK(closed.get_future().get());
}

TEST_CASE("callbacks start and abandon other transfers") {
  scripted_server server(always(answer_of("x")));
  scripted_server silent([](served& c) { c.client_closes(); });
  event_loop loop;
  transfer_log first, second, waiting;
  const auto other = loop.start(request_for(silent.url("/")), sink_into(waiting));
  auto sink = sink_into(first);
  sink.end = [&](const http_end& end) {
    first.end = end;
    loop.abandon(other);
    loop.start(request_for(server.url("/")), sink_into(second));
  };
  loop.start(request_for(server.url("/")), sink);
  run_bounded(loop, [&] { return second.end.has_value(); });
  CHECK(second.body == "x");
  CHECK_FALSE(waiting.end);
  CHECK(server.connections() == 1);
}

TEST_CASE("an answer that stays away ends with the time of the whole transfer") {
  const auto begin =
      GENERATE(as<std::string>(), "", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx");
  scripted_server server([begin](served& c) {
    c.request();
    c.send(begin);
    c.client_closes();
  });
  event_loop loop;
  auto request = request_for(server.url("/"));
  request.timeout = milliseconds{3000};
  const auto got = fetch(loop, request);
  CHECK(got.end->error == "no complete answer within 3000 ms");
  CHECK(got.end->sent);
}

TEST_CASE("an answer that is cut, too large, or no HTTP is an error") {
  const auto text = GENERATE(as<std::string>(), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nfour", "HTTP/1.1 2", "",
                             "* OK IMAP4 ready\r\n\r\n");
  scripted_server server([text](served& c) {
    c.request();
    c.send(text);
  });
  event_loop loop;
  const auto got = fetch(loop, request_for(server.url("/")));
  CAPTURE(text, got.end->error);
  CHECK(got.end->error != "");
  CHECK(got.end->sent);
  CHECK((got.body == "four" || got.body.empty()));
  CHECK(server.connections() == 1);
}

TEST_CASE("a server can refuse a body before it has come") {
  scripted_server server([](served& c) {
    c.send(answer_of("too much", 413));
    c.client_closes();
  });
  event_loop loop;
  auto request = request_for(server.url("/"), "POST");
  request.body.assign(64 * 1024 * 1024, 'x');
  const auto got = fetch(loop, request);
  CHECK(got.end->error == "");
  CHECK(got.end->head.status == 413);
}

TEST_CASE("a callback may wait for transfers of its own") {
  scripted_server server(always(answer_of("x")));
  event_loop loop;
  std::string got;
  loop.after(milliseconds{0}, [&] {
    for (int i = 0; i < 3; ++i) got += fetch(loop, request_for(server.url("/"))).body;
    loop.after(milliseconds{0}, [&] { got += "."; });
    run_bounded(loop, [&] { return got.ends_with("."); });
  });
  run_bounded(loop, [&] { return got == "xxx."; });
}

TEST_CASE("many transfers run at once, each with its own answer") {
  scripted_server server([](served& c) {
    for (auto r = c.request(); !r.empty(); r = c.request()) c.send(answer_of(r.substr(0, r.find(" HTTP"))));
  });
  event_loop loop;
  std::vector<transfer_log> logs(40);
  for (std::size_t i = 0; i < logs.size(); ++i)
    loop.start(request_for(server.url("/" + std::to_string(i))), sink_into(logs[i]));
  for (auto& log : logs) run_bounded(loop, [&] { return log.end.has_value(); });
  for (std::size_t i = 0; i < logs.size(); ++i) CHECK(logs[i].body == "GET /" + std::to_string(i));
}
