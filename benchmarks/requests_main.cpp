// bench_requests HOST PORT CONNECTIONS ["HEADER: VALUE"]: sends one POST for each line of stdin, "PATH BODY", over
// CONNECTIONS keep-alive connections with one request in flight on each (token in QUELL_TOKEN). Prints the seconds from
// the first request to the last answer, then the bodies of the answers, one a line, in the order of the requests. Ends
// with 1 if an answer is neither 200 nor 201. One thread, plain sockets: it shares the cores with what it measures.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using steady = std::chrono::steady_clock;

struct connection {
  int fd = -1;
  std::size_t request = 0;
  std::string received;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "bench_requests: %s\n", what);
  std::exit(1);
}

int dial(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, host, &address.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("cannot connect");
  return fd;
}

void send_all(int fd, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) fail("cannot send");
    sent += static_cast<std::size_t>(n);
  }
}

/// Reads the available bytes; true when a whole answer (always with a Content-Length here) has arrived in `body`.
bool read_answer(connection& c, std::string& body) {
  static char buffer[1 << 20];
  const auto n = read(c.fd, buffer, sizeof buffer);
  if (n <= 0) fail("the controller closed a connection");
  c.received.append(buffer, static_cast<std::size_t>(n));
  const auto head = c.received.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const char* length = strcasestr(c.received.c_str(), "\r\ncontent-length:");
  const std::size_t size = length ? std::strtoul(length + 17, nullptr, 10) : 0;
  if (c.received.size() < head + 4 + size) return false;
  const int status = std::atoi(c.received.c_str() + 9);
  if (status != 200 && status != 201) fail(c.received.substr(0, 1000).c_str());
  body = c.received.substr(head + 4, size);
  c.received.clear();
  return true;
}

std::vector<std::string> read_requests(const char* token, const std::string& header) {
  std::vector<std::string> all;
  for (std::string line; std::getline(std::cin, line);) {
    const auto space = line.find(' ');
    if (space == std::string::npos) fail("a line is not \"PATH BODY\"");
    const auto body = line.substr(space + 1);
    all.push_back("POST " + line.substr(0, space) + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
                  "\r\nContent-Type: application/json\r\n" + header + "Content-Length: " + std::to_string(body.size()) +
                  "\r\n\r\n" + body);
  }
  return all;
}

} // namespace

int main(int argc, char** argv) {
  const char* token = std::getenv("QUELL_TOKEN");
  if (argc < 4 || !token) {
    std::fprintf(stderr, "usage: QUELL_TOKEN=… bench_requests HOST PORT CONNECTIONS [HEADER] < requests\n");
    return 2;
  }
  const auto requests = read_requests(token, argc > 4 ? std::string(argv[4]) + "\r\n" : std::string());
  std::vector<std::string> answers(requests.size());
  std::vector<connection> all(static_cast<std::size_t>(std::atol(argv[3])));
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  for (auto& c : all) {
    c.fd = dial(argv[1], argv[2]);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &c}};
    epoll_ctl(poller, EPOLL_CTL_ADD, c.fd, &event);
  }
  std::size_t sent = 0, answered = 0;
  const auto send_next = [&](connection& c) {
    if (sent == requests.size()) return;
    c.request = sent++;
    send_all(c.fd, requests[c.request]);
  };
  const auto start = steady::now();
  for (auto& c : all) send_next(c);
  epoll_event events[256];
  while (answered < requests.size()) {
    const int n = epoll_wait(poller, events, 256, 60'000);
    if (n <= 0) fail("no answer for 60 s");
    for (int i = 0; i < n; ++i) {
      auto& c = *static_cast<connection*>(events[i].data.ptr);
      if (!read_answer(c, answers[c.request])) continue;
      ++answered;
      send_next(c);
    }
  }
  std::printf("%.6f\n", std::chrono::duration<double>(steady::now() - start).count());
  for (const auto& answer : answers) std::printf("%s\n", answer.c_str());
  return 0;
}
