// The sockets' own share of a cancel's latency: small, and no wake-up while idle.
#include <algorithm>

#include <sys/resource.h>
#include <sys/time.h>

#include <catch2/catch.hpp>

#include "tests/protocol/socket_fixture.hpp"

using namespace quell;
using namespace quell::testing;

namespace {

std::chrono::microseconds cpu_used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto in_us = [](const timeval& t) {
    return std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
  };
  return in_us(usage.ru_utime) + in_us(usage.ru_stime);
}

} // namespace

TEST_CASE("a frame from another thread to the worker and back takes well under a millisecond", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  auto client = open_client(server, worker);
  send_when_connected(*client, "hello");
  const auto route = server.next().from.route;
  std::vector<steady::duration> taken;
  for (int i = 0; i < 2000; ++i) {
    const auto begin = steady::now();
    server.socket->send(route, "stop");
    CHECK(receive_one(*client) == "stop");
    REQUIRE(client->send("applied"));
    CHECK(server.next().frame == "applied");
    taken.push_back(steady::now() - begin);
  }
  std::sort(taken.begin(), taken.end());
  const auto median = std::chrono::duration_cast<std::chrono::microseconds>(taken[taken.size() / 2]);
  INFO("median of a stop and its acknowledgement, another thread at both ends: " << median.count() << " us");
  // A polling timeout would show here as milliseconds. The figure itself is benchmarked, not tested.
  CHECK(median < 1ms);
}

TEST_CASE("a connected pair costs no CPU while nothing happens", "[socket]") {
  const auto worker = key_pair::generate();
  running_server server({worker.public_key});
  auto client = open_client(server, worker);
  send_when_connected(*client, "hello");
  (void)server.next();
  while (client->receive()) {
  }
  const auto before = cpu_used();
  pollfd p{client->descriptor(), POLLIN, 0};
  const int woken = ::poll(&p, 1, 1000); // an idle second: no event may come
  CHECK(woken == 0);
  CHECK(cpu_used() - before < 20ms);
}
