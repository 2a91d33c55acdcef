// The client side of the load generators: keep-alive connections on plain sockets, one request in flight on each, one
// thread. It shares the cores with the programs that it measures.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace quell::bench {

struct target {
  sockaddr_in address{};
  std::string host, token;
};

struct connection {
  int fd = -1;
  std::string received;
};

struct answer {
  int status = 0;
  std::string body;
};

[[noreturn]] inline void end_of_load(const char* why) {
  std::fprintf(stderr, "load generator: %s\n", why);
  std::exit(1);
}

/// Ends the program if QUELL_TOKEN is not set.
inline target target_of(const char* host, const char* port) {
  const char* token = std::getenv("QUELL_TOKEN");
  if (!token) end_of_load("QUELL_TOKEN is not set");
  target to;
  to.host = host;
  to.token = token;
  to.address.sin_family = AF_INET;
  to.address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, host, &to.address.sin_addr);
  return to;
}

inline int dial(const sockaddr_in& to) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    std::perror("load generator: connect");
    std::exit(1);
  }
  return fd;
}

inline std::string request(const target& to, const std::string& method, const std::string& path,
                           const std::string& body) {
  return method + " " + path + " HTTP/1.1\r\nHost: " + to.host + "\r\nAuthorization: Bearer " + to.token +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline void send_all(int fd, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) {
      std::perror("load generator: write");
      std::exit(1);
    }
    sent += static_cast<std::size_t>(n);
  }
}

/// Reads the available bytes; true when a whole answer (always with a Content-Length here) has arrived.
inline bool read_answer(connection& c, answer& into) {
  char buffer[65536];
  const auto n = read(c.fd, buffer, sizeof buffer);
  if (n <= 0) end_of_load("the server closed a connection");
  c.received.append(buffer, static_cast<std::size_t>(n));
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

/// Sends `count` requests over `width` connections. `text_of(n)` is the n-th request; `take(answer)` gets every answer.
template <class TextOf, class Take>
void send_requests(const target& to, long count, long width, TextOf text_of, Take take) {
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  std::vector<connection> all(static_cast<std::size_t>(width));
  long sent = 0, answered = 0;
  for (auto& c : all) {
    c.fd = dial(to.address);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &c;
    epoll_ctl(poller, EPOLL_CTL_ADD, c.fd, &event);
    if (sent < count) send_all(c.fd, text_of(sent++));
  }
  epoll_event events[256];
  answer a;
  while (answered < count) {
    const int ready = epoll_wait(poller, events, 256, 60'000);
    if (ready <= 0) end_of_load(("no answer for 60 s after " + std::to_string(answered)).c_str());
    for (int i = 0; i < ready; ++i) {
      auto& c = *static_cast<connection*>(events[i].data.ptr);
      if (!read_answer(c, a)) continue;
      ++answered;
      take(a);
      if (sent < count) send_all(c.fd, text_of(sent++));
    }
  }
  for (const auto& c : all) close(c.fd);
  close(poller);
}

/// A JSON string with the first 300 bytes of `text`.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 300))
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return out + "\"";
}

} // namespace quell::bench
