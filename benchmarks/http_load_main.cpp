// bench_http_load HOST PORT COUNT CONNECTIONS [SCOPE]: POSTs the body read from stdin to /v1/operations COUNT times
// over CONNECTIONS keep-alive connections (token in QUELL_TOKEN), one request in flight on each. With SCOPE it then
// polls until nothing in that scope is live. Prints {"created","refused","create_s","ended_s","first_refusal"}.
#include <chrono>
#include <iostream>
#include <iterator>

#include <poll.h>

#include "benchmarks/load_client.hpp"

namespace {

using namespace quell::bench;
using steady = std::chrono::steady_clock;

double since(steady::time_point start) { return std::chrono::duration<double>(steady::now() - start).count(); }

void wait_until_none_lives(const target& to, const std::string& scope) {
  connection c{dial(to.address), {}};
  const auto text = request(to, "GET", "/v1/operations?limit=1&status=live&scope=" + scope, "");
  while (true) {
    send_all(c.fd, text);
    answer a;
    while (!read_answer(c, a)) {
    }
    if (a.status == 200 && a.body.find("\"operations\":[]") != std::string::npos) break;
    poll(nullptr, 0, 10); // between two polls
  }
  close(c.fd);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: QUELL_TOKEN=… bench_http_load HOST PORT COUNT CONNECTIONS [SCOPE] < body.json\n");
    return 2;
  }
  const auto to = target_of(argv[1], argv[2]);
  const std::string body((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const auto text = request(to, "POST", "/v1/operations", body);
  long created = 0, refused = 0;
  std::string first_refusal;
  const auto start = steady::now();
  send_requests(
      to, std::atol(argv[3]), std::atol(argv[4]), [&text](long) -> const std::string& { return text; },
      [&](const answer& a) {
        ++(a.status == 201 || a.status == 200 ? created : refused);
        if (a.status >= 300 && first_refusal.empty()) first_refusal = std::to_string(a.status) + " " + a.body;
      });
  const double create_s = since(start);
  if (argc > 5) wait_until_none_lives(to, argv[5]);
  std::printf("{\"created\":%ld,\"refused\":%ld,\"create_s\":%.4f,\"ended_s\":%.4f,\"first_refusal\":%s}\n", created,
              refused, create_s, since(start), quoted(first_refusal).c_str());
  return 0;
}
