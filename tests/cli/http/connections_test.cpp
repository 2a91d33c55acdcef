// Which connection carries a request, and when a request is sent again.
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "cli/http/dialer.hpp"
#include "cli/http/kept_wires.hpp"
#include "tests/cli/http/fetching.hpp"
#include "tests/cli/http/scripted_server.hpp"

using namespace quell::cli;
using namespace quell::cli::test;
using quell::milliseconds;

namespace {

/// Answers the first request, and closes on the second without a word: what a client sees of a server that gave its
/// idle connection up while the request was on its way. Later connections work, if `others_work`.
scripted_server::script closes_on_the_second(std::vector<std::string>& seen, std::mutex& m, bool others_work = true) {
  return [&seen, &m, others_work](served& c) {
    for (int i = 0; i < 2; ++i) {
      const auto request = c.request();
      if (request.empty()) return;
      const std::lock_guard lock(m);
      seen.push_back(request.substr(0, request.find(' ')));
      if (c.number == 1 && i == 1) return;
      if (c.number > 1 && !others_work) return;
      c.send(answer_of("x"));
    }
  };
}

} // namespace

TEST_CASE("one connection carries one request after the other") {
  const auto close = GENERATE(false, true);
  scripted_server server([close](served& c) {
    while (!c.request().empty()) c.send(answer_of("x", 200, close ? "Connection: close\r\n" : ""));
  });
  event_loop loop;
  for (int i = 0; i < 3; ++i) CHECK(fetch(loop, request_for(server.url("/"), i == 1 ? "POST" : "GET")).body == "x");
  CHECK(server.connections() == (close ? 3 : 1));
}

TEST_CASE("a connection that the server closed while idle is not used again") {
  std::promise<void> closed;
  scripted_server server([&](served& c) {
    c.request();
    c.send(answer_of("x"));
    c.close();
    if (c.number == 1) closed.set_value();
  });
  event_loop loop;
  CHECK(fetch(loop, request_for(server.url("/"))).body == "x");
  closed.get_future().get();
  const auto got = fetch(loop, request_for(server.url("/"), "POST"));
  CHECK(got.end->error == "");
  CHECK(server.connections() == 2);
}

TEST_CASE("what only asks is sent again, once, if a kept connection ends without an answer") {
  std::vector<std::string> seen;
  std::mutex m;
  const bool others_work = GENERATE(true, false);
  scripted_server server(closes_on_the_second(seen, m, others_work));
  event_loop loop;
  CHECK(fetch(loop, request_for(server.url("/"))).body == "x");
  const auto got = fetch(loop, request_for(server.url("/")));
  CHECK((got.end->error == "") == others_work);
  CHECK(got.end->sent);
  CHECK(server.connections() == 2);
  const std::lock_guard lock(m);
  CHECK(seen == std::vector<std::string>{"GET", "GET", "GET"});
}

TEST_CASE("what changes something is never sent again after a server took it") {
  std::vector<std::string> seen;
  std::mutex m;
  const auto method = GENERATE(as<std::string>(), "POST", "DELETE", "PUT");
  scripted_server server(closes_on_the_second(seen, m));
  event_loop loop;
  CHECK(fetch(loop, request_for(server.url("/"))).body == "x");
  const auto got = fetch(loop, request_for(server.url("/"), method));
  CHECK(got.end->error != "");
  CHECK(got.end->sent);
  CHECK(server.connections() == 1);
  const std::lock_guard lock(m);
  CHECK(seen == std::vector<std::string>{"GET", method});
}

TEST_CASE("after a fresh connection nothing is sent again") {
  scripted_server server([](served& c) { c.request(); });
  event_loop loop;
  const auto got = fetch(loop, request_for(server.url("/")));
  CHECK(got.end->error == "the connection ended without an answer");
  CHECK(got.end->sent);
  CHECK(server.connections() == 1);
}

TEST_CASE("a server that is not there has certainly received nothing") {
  std::string url;
  {
    scripted_server gone([](served&) {});
    url = gone.url("/");
  }
  event_loop loop;
  const auto got = fetch(loop, request_for(url, "POST"));
  CHECK(got.end->error.find("Connection refused") != std::string::npos);
  CHECK_FALSE(got.end->sent);
  for (const char* bad : {"ftp://127.0.0.1/", "http://127.0.0.1:99999/", "http://name.invalid/"})
    CHECK_FALSE(fetch(loop, request_for(bad)).end->sent);
}

TEST_CASE("the thread that looks names up takes no signal") {
  event_loop loop;
  CHECK_FALSE(fetch(loop, request_for("http://name.invalid/")).end->sent);
  int others = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::getpid())) continue;
    std::ifstream status(thread.path() / "status");
    std::string word, mask;
    while (status >> word && word != "SigBlk:") continue;
    status >> mask;
    ++others;
    CHECK((std::stoull(mask, nullptr, 16) & (1ULL << (SIGINT - 1))) != 0);
  }
  CHECK(others >= 1);
}

TEST_CASE("localhost is both addresses, and brackets are IPv6") {
  const auto family = GENERATE(scripted_server::on::ipv4, scripted_server::on::ipv6);
  scripted_server server(
      [](served& c) {
        const auto r = c.request();
        c.send(answer_of(r.substr(r.find("Host: "), 10)));
      },
      nullptr, family);
  event_loop loop;
  CHECK(fetch(loop, request_for(server.url("/", "localhost"))).body == "Host: loca");
  if (family == scripted_server::on::ipv6)
    CHECK(fetch(loop, request_for(server.url("/", "[::1]"))).body == "Host: [::1");
}

TEST_CASE("no proxy of the environment sees a request") {
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"})
    ::setenv(name, "http://127.0.0.1:1", 1);
  scripted_server server([](served& c) {
    c.request();
    c.send(answer_of("x"));
  });
  event_loop loop;
  CHECK(fetch(loop, request_for(server.url("/"))).body == "x");
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
}

TEST_CASE("a connection that does not come about ends in time") {
  scripted_server silent([](served& c) { c.client_closes(); }); // takes connections, and never speaks TLS
  boost::asio::io_context io;
  tls_contexts trust;
  dialing with{io, trust};
  with.limit = milliseconds{100};
  std::string error;
  const auto to = parse_address("https://127.0.0.1:" + std::to_string(silent.port()));
  std::make_shared<dialer>(with, *to, "", [&](const dialer::outcome& o) {
    error = o ? "connected" : o.error();
  })->start();
  io.run_for(std::chrono::seconds(60));
  CHECK(error.starts_with("no connection to 127.0.0.1 port "));
  CHECK(error.find("none within") != std::string::npos);
}

TEST_CASE("a dialer that is stopped says nothing") {
  scripted_server server([](served& c) { c.client_closes(); });
  boost::asio::io_context io;
  tls_contexts trust;
  bool has_answered = false;
  const auto to = parse_address("http://127.0.0.1:" + std::to_string(server.port()));
  const bool has_begun = GENERATE(false, true);
  auto d = std::make_shared<dialer>(dialing{io, trust}, *to, "", [&](const dialer::outcome&) { has_answered = true; });
  d->start();
  if (has_begun) io.run_one(); // it connects
  d->stop();
  io.run_for(std::chrono::seconds(10));
  CHECK_FALSE(has_answered);
}

TEST_CASE("few connections are kept, and none for long") {
  scripted_server server([](served& c) { c.client_closes(); });
  boost::asio::io_context io;
  kept_wires kept;
  const auto connected = [&] {
    auto w = std::make_shared<wire>(io);
    bool is_there = false;
    w->connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(server.port())},
               [&](const boost::system::error_code& e) { is_there = !e; });
    io.restart();
    io.run();
    REQUIRE(is_there);
    return w;
  };
  const kept_wires::instant now = std::chrono::steady_clock::now();
  const auto first = connected();
  kept.keep("a", first, now);
  CHECK(kept.take("b", now) == nullptr);
  CHECK(kept.take("a", now) == first);
  CHECK(kept.take("a", now) == nullptr);
  kept.keep("a", first, now);
  CHECK(kept.take("a", now + kept_wires::most_idle) == nullptr);
  for (std::size_t i = 0; i < kept_wires::most + 1; ++i) kept.keep(std::to_string(i), connected(), now);
  CHECK(kept.take("0", now) == nullptr);
  CHECK(kept.take("1", now) != nullptr);
}
