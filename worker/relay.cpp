// Relayed TCP connections with credit in both directions.
#include "worker/relay.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace quell::worker {

namespace {
constexpr std::size_t piece_bytes = 64 * 1024;
}

result<std::unique_ptr<relay>> relay::listen() {
  unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd.get(), 128) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return failure("relay", std::string("the relay cannot listen on 127.0.0.1: ") + std::strerror(errno));
  return std::unique_ptr<relay>(new relay(std::move(fd), ntohs(address.sin_port)));
}

void relay::attach(int epoll, std::function<std::uint64_t(std::uint64_t)> token,
                   std::function<void(wire::bulk_message)> send) {
  epoll_ = epoll;
  token_ = std::move(token);
  send_ = std::move(send);
  epoll_event event{EPOLLIN, {.u64 = token_(0)}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_.get(), &event);
}

void relay::link(bool is_up) {
  connections_.clear();
  strangers_.clear();
  places_.clear();
  last_ = 0;
  up_ = is_up;
}

void relay::ready(std::uint64_t id, std::uint32_t events) {
  if (id == 0) return accept_all();
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  connection& c = it->second;
  if ((events & EPOLLOUT) != 0 && !write(id, c)) return;
  if ((events & EPOLLIN) != 0 && c.reading && c.credit > 0) return read(id, c);
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) close(id, closing::announced);
}

void relay::accept_all() {
  for (;;) {
    unique_fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (!up_) continue; // closed at once; the client retries
    // A client that only connects takes no place from clients that send requests.
    if (strangers_.size() >= most_connections) close(*strangers_.begin(), closing::silent);
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::uint64_t id = ++last_;
    connection& c = connections_[id];
    c.fd = std::move(fd);
    c.watched = EPOLLIN;
    epoll_event event{c.watched, {.u64 = token_(id)}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd.get(), &event);
    strangers_.insert(id);
  }
}

void relay::admit(std::uint64_t id, connection& c) {
  const auto [what, task] = gate_.classify(c.head);
  switch (what) {
  case relay_gate::verdict::wait:
    return;
  case relay_gate::verdict::refuse: {
    const auto answer = relay_gate::refusal();
    (void)!::send(c.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    ::shutdown(c.fd.get(), SHUT_WR);
    return close(id, closing::silent);
  }
  case relay_gate::verdict::admit:
    if (const auto other = places_.gives_way()) close(*other, closing::announced);
    places_.admit(id, task);
    c.is_admitted = true;
    strangers_.erase(id);
    send_(wire::relay_open{id});
    c.credit -= c.head.size();
    send_(wire::relay_data{id, std::exchange(c.head, {})});
    return watch(id, c);
  }
}

void relay::read(std::uint64_t id, connection& c) {
  const auto most = c.is_admitted ? std::min(piece_bytes, c.credit) : relay_gate::most_head_bytes - c.head.size();
  std::string bytes(most, '\0');
  const auto n = ::recv(c.fd.get(), bytes.data(), bytes.size(), 0);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    return close(id, closing::announced);
  }
  if (n == 0 && !c.is_admitted) return close(id, closing::silent);
  if (n == 0) {
    c.reading = false;
    send_(wire::relay_close{id, true});
    if (!c.writing) return close(id, closing::silent);
    return watch(id, c);
  }
  bytes.resize(static_cast<std::size_t>(n));
  if (!c.is_admitted) {
    c.head += bytes;
    return admit(id, c);
  }
  c.credit -= bytes.size();
  send_(wire::relay_data{id, std::move(bytes)});
  watch(id, c);
}

bool relay::write(std::uint64_t id, connection& c) {
  std::size_t written = 0;
  while (written < c.outgoing.size()) {
    const auto n = ::send(c.fd.get(), c.outgoing.data() + written, c.outgoing.size() - written, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      close(id, closing::announced);
      return false;
    }
    written += static_cast<std::size_t>(n);
  }
  if (written > 0) {
    c.outgoing.erase(0, written);
    send_(wire::relay_credit{id, written});
  }
  if (c.outgoing.empty()) {
    if (c.close_when_drained) {
      close(id, closing::silent);
      return false;
    }
    if (c.shut_when_drained && c.writing) {
      c.writing = false;
      ::shutdown(c.fd.get(), SHUT_WR);
      if (!c.reading) {
        close(id, closing::silent);
        return false;
      }
    }
  }
  watch(id, c);
  return true;
}

void relay::watch(std::uint64_t id, connection& c) {
  const std::uint32_t wanted = (c.reading && c.credit > 0 ? EPOLLIN : 0U) | (c.outgoing.empty() ? 0U : EPOLLOUT);
  if (wanted == c.watched) return;
  c.watched = wanted;
  epoll_event event{wanted, {.u64 = token_(id)}};
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd.get(), &event);
}

void relay::close(std::uint64_t id, closing how) {
  const auto found = connections_.find(id);
  const bool is_known = found != connections_.end() && found->second.is_admitted; // to the controller
  if (found != connections_.end()) connections_.erase(found);
  strangers_.erase(id);
  places_.leave(id);
  if (how == closing::announced && is_known) send_(wire::relay_close{id, false});
}

void relay::receive(const wire::relay_data& m) {
  const auto it = connections_.find(m.connection);
  if (it == connections_.end() || it->second.shut_when_drained || it->second.close_when_drained) return;
  if (it->second.outgoing.size() + m.bytes.size() > window_bytes)
    return close(m.connection, closing::announced); // the peer exceeded the window
  it->second.outgoing += m.bytes;
  write(m.connection, it->second);
}

void relay::receive(const wire::relay_credit& m) {
  const auto it = connections_.find(m.connection);
  if (it == connections_.end()) return;
  it->second.credit = static_cast<std::size_t>(std::min<std::uint64_t>(window_bytes, it->second.credit + m.bytes));
  watch(m.connection, it->second);
}

void relay::receive(const wire::relay_close& m) {
  const auto it = connections_.find(m.connection);
  if (it == connections_.end()) return;
  (m.half ? it->second.shut_when_drained : it->second.close_when_drained) = true;
  write(m.connection, it->second);
}

} // namespace quell::worker
