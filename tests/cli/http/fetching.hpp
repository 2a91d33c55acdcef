// A client's side of the tests: one loop, and what a transfer told.
#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "cli/http.hpp"

namespace quell::cli::test {

struct transfer_log {
  int heads = 0;
  http_head first_head;
  std::string body;
  std::optional<http_end> end;
};

inline http_sink sink_into(transfer_log& log) {
  http_sink sink;
  sink.head = [&log](const http_head& head) {
    ++log.heads;
    log.first_head = head;
  };
  sink.body = [&log](std::string_view bytes) {
    log.body += bytes;
    return true;
  };
  sink.end = [&log](const http_end& end) { log.end = end; };
  return sink;
}

/// Fails the test case if `done` does not come true within 20 s.
inline void run_bounded(event_loop& loop, const std::function<bool()>& done) {
  bool is_late = false;
  const auto limit = loop.after(milliseconds{60'000}, [&is_late] { is_late = true; });
  loop.run_until([&] { return is_late || done(); });
  loop.forget(limit);
  REQUIRE_FALSE(is_late);
}

inline http_request request_for(const std::string& url, const std::string& method = "GET") {
  http_request r;
  r.url = url;
  r.method = method;
  return r;
}

inline transfer_log fetch(event_loop& loop, http_request request) {
  transfer_log log;
  loop.start(std::move(request), sink_into(log));
  run_bounded(loop, [&] { return log.end.has_value(); });
  return log;
}

} // namespace quell::cli::test
