// bench_http_load HOST PORT COUNT CONNECTIONS [SCOPE]: POSTs the body read from stdin to /v1/operations COUNT times
// over CONNECTIONS keep-alive connections (token in QUELL_TOKEN), one request in flight on each. With SCOPE it then
// polls until nothing in that scope is live. Prints {"created","refused","create_s","ended_s","first_refusal"}. One
// thread, plain sockets: it shares the cores with the programs that it measures.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using steady = std::chrono::steady_clock;

struct target {
  sockaddr_in address{};
  std::string host, token;
};

struct connection {
  int fd = -1;
  std::string received;
};

int dial(const target& to) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to.address), sizeof to.address) != 0) {
    std::perror("bench_http_load: connect");
    std::exit(1);
  }
  return fd;
}

std::string request(const target& to, const std::string& method, const std::string& path, const std::string& body) {
  return method + " " + path + " HTTP/1.1\r\nHost: " + to.host + "\r\nAuthorization: Bearer " + to.token +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

void send_all(int fd, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) {
      std::perror("bench_http_load: write");
      std::exit(1);
    }
    sent += n;
  }
}

struct answer {
  int status = 0;
  std::string body;
};

/// Reads the available bytes; true when a whole answer (always with a Content-Length here) has arrived.
bool read_answer(connection& c, answer& into) {
  char buffer[65536];
  const auto n = read(c.fd, buffer, sizeof buffer);
  if (n <= 0) {
    std::fprintf(stderr, "bench_http_load: the controller closed a connection\n");
    std::exit(1);
  }
  c.received.append(buffer, n);
  const auto head = c.received.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const char* length = strcasestr(c.received.c_str(), "\r\ncontent-length:");
  const std::size_t size = length ? std::strtoul(length + 17, nullptr, 10) : 0;
  if (c.received.size() < head + 4 + size) return false;
  into.status = std::atoi(c.received.c_str() + 9);
  into.body = c.received.substr(head + 4, size);
  c.received.erase(0, head + 4 + size);
  return true;
}

double since(steady::time_point start) { return std::chrono::duration<double>(steady::now() - start).count(); }

struct tally {
  long sent = 0, created = 0, refused = 0;
  std::string first_refusal;
};

tally create_all(const target& to, long count, long width, const std::string& body) {
  const auto text = request(to, "POST", "/v1/operations", body);
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  std::vector<connection> all(width);
  tally t;
  for (auto& c : all) {
    c.fd = dial(to);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &c}};
    epoll_ctl(poller, EPOLL_CTL_ADD, c.fd, &event);
    if (t.sent < count) {
      ++t.sent;
      send_all(c.fd, text);
    }
  }
  epoll_event events[256];
  while (t.created + t.refused < count) {
    const int n = epoll_wait(poller, events, 256, 60'000);
    if (n <= 0) {
      std::fprintf(stderr, "bench_http_load: no answer for 60 s after %ld of %ld\n", t.created + t.refused, count);
      std::exit(1);
    }
    for (int i = 0; i < n; ++i) {
      auto& c = *static_cast<connection*>(events[i].data.ptr);
      answer a;
      if (!read_answer(c, a)) continue;
      ++(a.status == 201 || a.status == 200 ? t.created : t.refused);
      if (a.status >= 300 && t.first_refusal.empty()) t.first_refusal = std::to_string(a.status) + " " + a.body;
      if (t.sent < count) {
        ++t.sent;
        send_all(c.fd, text);
      }
    }
  }
  for (auto& c : all) close(c.fd);
  close(poller);
  return t;
}

void wait_until_none_lives(const target& to, const std::string& scope) {
  connection c{dial(to), {}};
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

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 300))
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return out + "\"";
}

} // namespace

int main(int argc, char** argv) {
  const char* token = std::getenv("QUELL_TOKEN");
  if (argc < 5 || !token) {
    std::fprintf(stderr, "usage: QUELL_TOKEN=… bench_http_load HOST PORT COUNT CONNECTIONS [SCOPE] < body.json\n");
    return 2;
  }
  target to;
  to.host = argv[1];
  to.token = token;
  to.address.sin_family = AF_INET;
  to.address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[2])));
  inet_pton(AF_INET, argv[1], &to.address.sin_addr);
  const std::string body((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const auto start = steady::now();
  const auto t = create_all(to, std::atol(argv[3]), std::atol(argv[4]), body);
  const double create_s = since(start);
  if (argc > 5) wait_until_none_lives(to, argv[5]);
  std::printf("{\"created\":%ld,\"refused\":%ld,\"create_s\":%.4f,\"ended_s\":%.4f,\"first_refusal\":%s}\n", t.created,
              t.refused, create_s, since(start), quoted(t.first_refusal).c_str());
  return 0;
}
