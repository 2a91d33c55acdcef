// bench_requests HOST PORT CONNECTIONS [TIMES]: sends the requests read from stdin, each a line `METHOD PATH [BODY]`,
// over CONNECTIONS keep-alive connections (token in QUELL_TOKEN), all of them TIMES times over (1). Prints
// {"answered","refused","took_s","first_refusal"}; took_s is from the first request to the last answer.
#include <chrono>
#include <iostream>

#include "benchmarks/load_client.hpp"

int main(int argc, char** argv) {
  using namespace quell::bench;
  if (argc < 4) {
    std::fprintf(stderr, "usage: QUELL_TOKEN=… bench_requests HOST PORT CONNECTIONS [TIMES] < requests\n");
    return 2;
  }
  const auto to = target_of(argv[1], argv[2]);
  std::vector<std::string> texts;
  for (std::string line; std::getline(std::cin, line);) {
    const auto path = line.find(' ');
    if (path == std::string::npos) end_of_load("a line is not METHOD PATH [BODY]");
    const auto body = line.find(' ', path + 1);
    texts.push_back(request(to, line.substr(0, path), line.substr(path + 1, body - path - 1),
                            body == std::string::npos ? "" : line.substr(body + 1)));
  }
  if (texts.empty()) end_of_load("stdin has no request");
  const long lines = static_cast<long>(texts.size()), times = argc > 4 ? std::atol(argv[4]) : 1;
  long refused = 0;
  std::string first_refusal;
  const auto start = std::chrono::steady_clock::now();
  send_requests(
      to, lines * times, std::atol(argv[3]),
      [&](long n) -> const std::string& { return texts[static_cast<std::size_t>(n % lines)]; },
      [&](const answer& a) {
        if (a.status >= 200 && a.status < 300) return;
        ++refused;
        if (first_refusal.empty()) first_refusal = std::to_string(a.status) + " " + a.body;
      });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("{\"answered\":%ld,\"refused\":%ld,\"took_s\":%.6f,\"first_refusal\":%s}\n", lines * times, refused,
              took.count(), quoted(first_refusal).c_str());
  return 0;
}
