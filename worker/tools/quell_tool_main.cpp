// quell-tool: one request on stdin, one answer on stdout.
#include <cstdio>
#include <string>

#include <curl/curl.h>

#include "worker/tools/tool.hpp"

namespace {
constexpr std::size_t longest_request = 32 << 20;
}

int main(int argc, char**) {
  if (argc != 1) {
    std::fputs("quell-tool is run by quell-worker: it reads one request as JSON from stdin and writes one answer.\n",
               stderr);
    return 2;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::string request;
  char piece[65536];
  for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, stdin)) > 0;) {
    if (request.size() + n > longest_request) {
      std::fputs("quell-tool: the request is longer than 32 MiB\n", stderr);
      return 1;
    }
    request.append(piece, n);
  }
  const std::string answer = quell::worker::tools::run_request(request);
  const bool written =
      std::fwrite(answer.data(), 1, answer.size(), stdout) == answer.size() && std::fflush(stdout) == 0;
  return written ? 0 : 1;
}
