// A real HTTP/1.1 server on a loopback port that a test controls.
#include "tests/integrations/http_server.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace quell::testing {

http_server::http_server(std::function<moves(const http_ask&)> answer) : answer_(std::move(answer)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener_, 4096) == 0);
  REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  REQUIRE(::pipe2(waker_, O_CLOEXEC) == 0);
  loop_ = std::thread([this] { run(); });
}

http_server::~http_server() {
  ::close(waker_[1]);
  loop_.join();
  for (const connection& one : connections_) ::close(one.socket);
  ::close(listener_);
  ::close(waker_[0]);
}

std::vector<http_ask> http_server::asks() const {
  const std::lock_guard lock(guard_);
  return asks_;
}

steady::time_point http_server::last_hang_up() const {
  const std::lock_guard lock(guard_);
  return last_hang_up_;
}

void http_server::changed() const {
  const std::lock_guard lock(guard_);
  changed_.notify_all();
}

void http_server::until(const std::string& what, const std::function<bool()>& done) const {
  std::unique_lock lock(guard_);
  if (!changed_.wait_for(lock, test_bound, done)) FAIL("waited " << test_bound.count() << " ms for " << what);
}

void http_server::run() {
  for (;;) {
    std::vector<pollfd> polled{{waker_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    auto wake = steady::now() + 60s;
    for (const connection& one : connections_) {
      const bool waiting = one.not_before > steady::now();
      if (waiting) wake = std::min(wake, one.not_before);
      polled.push_back({one.socket, static_cast<short>(POLLIN | (one.out.empty() ? 0 : POLLOUT)), 0});
    }
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wake - steady::now()).count();
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max<long>(0, ms)));
    if (polled[0].revents != 0) return;
    bool any = false;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      connection& one = connections_[i];
      bool alive = true;
      if (polled[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) alive = receive(one);
      if (alive && act(one)) continue;
      ::close(one.socket);
      one.socket = -1;
      --open_;
      any = true;
    }
    std::erase_if(connections_, [](const connection& one) { return one.socket < 0; });
    if (polled[1].revents != 0) accept_one(), any = true;
    if (any) changed();
  }
}

void http_server::accept_one() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return;
    connections_.push_back({socket, ++accepted_, {}, {}, 0, {}, {}});
    ++open_;
  }
}

bool http_server::receive(connection& one) {
  char bytes[16384];
  for (;;) {
    const auto count = ::recv(one.socket, bytes, sizeof bytes, 0);
    if (count > 0) {
      one.in.append(bytes, static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    const std::lock_guard lock(guard_);
    ++hung_up_;
    last_hang_up_ = steady::now();
    return false;
  }
  parse(one);
  return true;
}

void http_server::parse(connection& one) {
  const auto end = one.in.find("\r\n\r\n");
  if (end == std::string::npos) return;
  http_ask ask;
  ask.path = one.in.substr(one.in.find(' ') + 1);
  ask.path = ask.path.substr(0, ask.path.find(' '));
  for (auto at = one.in.find("\r\n"); at < end;) {
    const auto next = one.in.find("\r\n", at + 2);
    const std::string line = one.in.substr(at + 2, next - at - 2);
    std::string name = line.substr(0, line.find(':'));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (line.find(": ") != std::string::npos) ask.headers[name] = line.substr(line.find(": ") + 2);
    if (line.ends_with(':')) ask.headers[name].clear();
    at = next;
  }
  const std::size_t length = ask.headers.contains("content-length") ? std::stoul(ask.headers["content-length"]) : 0;
  if (one.in.size() < end + 4 + length) return;
  ask.body = one.in.substr(end + 4, length);
  one.in.erase(0, end + 4 + length);
  ask.connection = one.number;
  {
    const std::lock_guard lock(guard_);
    ask.number = asks_.size() + 1;
    asks_.push_back(ask);
  }
  one.todo = answer_(ask);
  one.next = 0;
  changed();
}

bool http_server::act(connection& one) {
  while (one.not_before <= steady::now()) {
    if (!one.out.empty()) {
      const auto count = ::send(one.socket, one.out.data(), one.out.size(), MSG_NOSIGNAL);
      if (count > 0) one.out.erase(0, static_cast<std::size_t>(count));
      if (!one.out.empty()) return true;
    }
    if (one.next == one.todo.size()) return true;
    const move& next = one.todo[one.next++];
    switch (next.what) {
    case move::kind::send:
      one.out = next.bytes;
      break;
    case move::kind::wait:
      one.not_before = steady::now() + next.time;
      break;
    case move::kind::close:
      return false;
    case move::kind::reset: {
      const linger at_once{1, 0};
      ::setsockopt(one.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      return false;
    }
    }
  }
  return true;
}

move head(int status, const std::string& type, const std::string& more) {
  return {move::kind::send,
          "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: " + type + "\r\n" + more + "\r\n",
          {}};
}
move chunked_head() {
  return {
      move::kind::send, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", {}};
}
move chunk(const std::string& bytes) {
  char length[32];
  std::snprintf(length, sizeof length, "%zx\r\n", bytes.size());
  return {move::kind::send, length + bytes + "\r\n", {}};
}
move last_chunk() { return {move::kind::send, "0\r\n\r\n", {}}; }
move pause(std::chrono::milliseconds time) { return {move::kind::wait, {}, time}; }
move close_now() { return {move::kind::close, {}, {}}; }
move reset_now() { return {move::kind::reset, {}, {}}; }
move whole(int status, const std::string& body, const std::string& more, const std::string& type) {
  move all = head(status, type, "Content-Length: " + std::to_string(body.size()) + "\r\n" + more);
  all.bytes += body;
  return all;
}

} // namespace quell::testing
