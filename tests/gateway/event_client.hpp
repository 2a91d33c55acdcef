// Streams of events as a client of the gateway reads them.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "tests/gateway/world.hpp"
#include "tests/patience.hpp"

namespace quell::controller::test {

struct sse_event {
  std::string id, type;
  nlohmann::json data;
};

/// The next event of the stream, comments and `retry` skipped. Throws if the stream ends. Comments never end, so a lost
/// event must fail the test.
inline sse_event next_event(http_client& client) {
  const auto deadline = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds(60));
  while (true) {
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("waited in vain for an event; the stream says only comments");
    const auto frame = client.read_until("\n\n");
    sse_event event;
    std::size_t from = 0;
    while (from < frame.size()) {
      const auto end = frame.find('\n', from);
      const auto line = frame.substr(from, end - from);
      from = end + 1;
      if (line.starts_with("id: ")) event.id = line.substr(4);
      if (line.starts_with("event: ")) event.type = line.substr(7);
      if (line.starts_with("data: ")) event.data = nlohmann::json::parse(line.substr(6));
    }
    if (!event.type.empty()) return event;
  }
}

inline std::unique_ptr<http_client> watch(gateway_world& world, const std::string& target,
                                          const std::string& last_event_id = {}) {
  auto client = std::make_unique<http_client>(world.front->port());
  client->send_request("GET", target, gateway_world::watching(last_event_id));
  const auto head = client->read_head();
  if (head.status != 200) throw std::runtime_error("the stream was refused: " + std::to_string(head.status));
  CHECK(head.header("content-type") == "text/event-stream");
  CHECK(client->read_until("\n\n") == "retry: 1000\n\n");
  return client;
}

} // namespace quell::controller::test
