// A poll loop over the relayed connections; back-pressure both ways: the worker's by credit, the gateway's by the
// socket buffer.
#include "quelld/bulk/relay.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace quell::controller {

namespace {
constexpr std::size_t chunk_bytes = 64 * 1024;
}

relay::relay(std::string gateway_socket, sender send)
    : gateway_socket_(std::move(gateway_socket)), send_(std::move(send)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { run(); });
}

relay::~relay() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  for (auto& [k, c] : connections_) ::close(c.fd);
  ::close(wake_);
}

void relay::take(const std::string& route, wire::bulk_message message) {
  {
    std::lock_guard lock(mutex_);
    auto& w = waiting_[route];
    const auto* data = std::get_if<wire::relay_data>(&message);
    w.bytes += data ? data->bytes.size() : 0;
    if (w.is_over) return; // until the next round
    if (++w.messages > most_waiting_per_worker || w.bytes > most_waiting_bytes_per_worker) {
      w.is_over = true;
      dropped_.push_back(route);
    } else {
      inbox_.emplace_back(route, std::move(message));
    }
  }
  ::eventfd_write(wake_, 1);
}

void relay::drop_route(const std::string& route) {
  {
    std::lock_guard lock(mutex_);
    dropped_.push_back(route);
  }
  ::eventfd_write(wake_, 1);
}

void relay::post(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  ::eventfd_write(wake_, 1);
}

void relay::run() {
  std::vector<pollfd> fds;
  std::vector<key> keys;
  for (;;) {
    fds.assign(1, {wake_, POLLIN, 0});
    keys.assign(1, {});
    for (const auto& [k, c] : connections_) {
      short events = 0;
      if (c.credit > 0 && !c.gateway_done) events |= POLLIN;
      if (!c.outgoing.empty()) events |= POLLOUT;
      fds.push_back({c.fd, events, 0});
      keys.push_back(k);
    }
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    for (std::size_t i = 1; i < fds.size(); ++i) {
      const auto it = connections_.find(keys[i]);
      if (it == connections_.end() || !fds[i].revents) continue;
      if (fds[i].revents & POLLOUT) flush(keys[i], it->second);
      if (const auto again = connections_.find(keys[i]);
          again != connections_.end() && (fds[i].revents & (POLLIN | POLLHUP | POLLERR)))
        pump(keys[i], again->second);
    }
    if (!(fds[0].revents & POLLIN)) continue;
    eventfd_t count = 0;
    ::eventfd_read(wake_, &count);
    std::deque<std::pair<std::string, wire::bulk_message>> inbox;
    std::deque<std::string> dropped;
    std::deque<std::function<void()>> jobs;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      inbox.swap(inbox_);
      waiting_.clear();
      dropped.swap(dropped_);
      jobs.swap(jobs_);
    }
    for (const auto& job : jobs) job();
    for (const auto& route : dropped) {
      std::vector<key> gone;
      for (const auto& [k, c] : connections_)
        if (k.first == route) gone.push_back(k);
      for (const auto& k : gone) close(k, closing::silent);
    }
    for (const auto& [route, message] : inbox) handle(route, message);
  }
}

void relay::handle(const std::string& route, const wire::bulk_message& message) {
  if (const auto* o = std::get_if<wire::relay_open>(&message)) return open({route, o->connection});
  if (const auto* d = std::get_if<wire::relay_data>(&message)) {
    const key k{route, d->connection};
    const auto it = connections_.find(k);
    if (it == connections_.end() || it->second.worker_done) return;
    if (it->second.outgoing.size() + d->bytes.size() > 2 * window_bytes)
      return close(k, closing::announced); // beyond its window
    it->second.outgoing += d->bytes;
    flush(k, it->second);
  } else if (const auto* c = std::get_if<wire::relay_credit>(&message)) {
    const auto it = connections_.find({route, c->connection});
    if (it == connections_.end()) return;
    it->second.credit = std::min<std::uint64_t>(window_bytes, it->second.credit + c->bytes);
  } else if (const auto* x = std::get_if<wire::relay_close>(&message)) {
    const key k{route, x->connection};
    const auto it = connections_.find(k);
    if (it == connections_.end()) return;
    if (!x->half) return close(k, closing::silent);
    it->second.worker_done = true;
    flush(k, it->second);
  }
}

void relay::open(const key& k) {
  if (connections_.contains(k)) return;
  auto& open_now = per_route_[k.first];
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool fits = gateway_socket_.size() < sizeof address.sun_path;
  const int fd = fits && open_now < most_connections_per_worker
                     ? ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
                     : -1;
  if (fd >= 0) {
    std::memcpy(address.sun_path, gateway_socket_.c_str(), gateway_socket_.size() + 1);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      connections_[k].fd = fd;
      ++open_now;
      return;
    }
    ::close(fd);
  }
  send_(k.first, wire::relay_close{k.second, false});
}

void relay::close(const key& k, closing how) {
  const auto it = connections_.find(k);
  if (it == connections_.end()) return;
  ::close(it->second.fd);
  connections_.erase(it);
  if (--per_route_[k.first] == 0) per_route_.erase(k.first);
  if (how == closing::announced) send_(k.first, wire::relay_close{k.second, false});
}

/// Writes bytes from the worker into the gateway's socket.
void relay::flush(const key& k, connection& c) {
  while (!c.outgoing.empty()) {
    const auto n = ::send(c.fd, c.outgoing.data(), c.outgoing.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) return close(k, closing::announced);
    c.consumed += static_cast<std::uint64_t>(n);
    c.outgoing.erase(0, static_cast<std::size_t>(n));
  }
  if (c.consumed >= chunk_bytes) {
    send_(k.first, wire::relay_credit{k.second, c.consumed});
    c.consumed = 0;
  }
  if (c.outgoing.empty() && c.worker_done) ::shutdown(c.fd, SHUT_WR);
}

/// Sends bytes from the gateway to the worker, as far as its credit allows.
void relay::pump(const key& k, connection& c) {
  std::string bytes(std::min<std::uint64_t>(c.credit, chunk_bytes), '\0');
  if (bytes.empty()) return;
  const auto n = ::recv(c.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (n <= 0) return close(k, closing::announced);
  bytes.resize(static_cast<std::size_t>(n));
  c.credit -= bytes.size();
  send_(k.first, wire::relay_data{k.second, std::move(bytes)});
}

} // namespace quell::controller
