// A server on a loopback port with its loop on a thread, and clients that wait with a deadline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <poll.h>

#include <catch2/catch.hpp>

#include "protocol/socket.hpp"
#include "tests/patience.hpp"

namespace quell::testing {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

inline const auto test_bound = patient(20s); ///< far above what anything here needs; a loaded machine is slow

/// Runs a server and keeps the frames that it received.
class running_server {
 public:
  explicit running_server(std::vector<std::string> allowed, std::size_t max_frame_bytes = 4 * 1024 * 1024,
                          std::string endpoint = "tcp://127.0.0.1:0", int high_water_frames = 10'000) {
    auto bound = server_socket::bind({std::move(endpoint), keys, max_frame_bytes, high_water_frames});
    if (!bound) FAIL(bound.error().detail);
    socket = std::move(*bound);
    socket->allow(std::move(allowed));
    loop_ = std::jthread([this] {
      socket->run([this](const peer& from, std::string_view frame) { take(from, frame); },
                  [this](std::string_view key) { take_refused(key); });
    });
  }
  ~running_server() { socket->stop(); }

  std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(socket->port()); }

  struct received {
    peer from;
    std::string frame;
  };
  /// The next frame; fails the test if none comes.
  received next() {
    std::unique_lock lock(guard_);
    if (!changed_.wait_for(lock, test_bound, [this] { return taken_ < frames_.size(); }))
      FAIL("waited in vain for a frame at the server");
    return frames_[taken_++];
  }
  std::size_t frame_count() {
    const std::lock_guard lock(guard_);
    return frames_.size();
  }
  std::string next_refused() {
    std::unique_lock lock(guard_);
    if (!changed_.wait_for(lock, test_bound, [this] { return !refused_.empty(); }))
      FAIL("waited in vain for a refused key");
    return refused_.front();
  }
  std::size_t refused_count() {
    const std::lock_guard lock(guard_);
    return refused_.size();
  }

  key_pair keys = key_pair::generate();
  std::unique_ptr<server_socket> socket;
  /// Called on the loop's thread for every frame from now on.
  void on_frame(std::function<void(const peer&, std::string_view)> also) {
    const std::lock_guard lock(guard_);
    also_ = std::move(also);
  }

 private:
  void take(const peer& from, std::string_view frame) {
    const std::lock_guard lock(guard_);
    if (also_) also_(from, frame);
    frames_.push_back({from, std::string(frame)});
    changed_.notify_all();
  }
  void take_refused(std::string_view key) {
    const std::lock_guard lock(guard_);
    refused_.emplace_back(key);
    changed_.notify_all();
  }

  std::mutex guard_;
  std::condition_variable changed_;
  std::function<void(const peer&, std::string_view)> also_;
  std::vector<received> frames_;
  std::size_t taken_ = 0;
  std::vector<std::string> refused_;
  std::jthread loop_;
};

/// Waits on the client's descriptor until `done`; every wait goes through the descriptor, so a lost wake-up fails the
/// test.
template <class Done>
void until(client_socket& client, const std::string& what, Done done) {
  while (!done()) {
    pollfd p{client.descriptor(), POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(test_bound.count())) == 0) FAIL("waited in vain for " + what);
  }
}

inline std::unique_ptr<client_socket> open_client(const std::vector<std::string>& endpoints, const key_pair& keys,
                                                  const std::string& server_key,
                                                  std::size_t max_frame_bytes = 4 * 1024 * 1024) {
  auto opened = client_socket::open({endpoints, keys, server_key, max_frame_bytes});
  if (!opened) FAIL(opened.error().detail);
  return std::move(*opened);
}

inline std::unique_ptr<client_socket> open_client(const running_server& server, const key_pair& keys) {
  return open_client({server.endpoint()}, keys, server.keys.public_key);
}

/// Sends as soon as the connection is established.
inline void send_when_connected(client_socket& client, std::string_view frame) {
  until(client, "a connection to send on", [&] {
    const bool sent = client.send(frame);
    if (!sent) (void)client.receive();
    return sent;
  });
}

inline std::string receive_one(client_socket& client) {
  std::optional<std::string> frame;
  until(client, "a frame at the client", [&] { return (frame = client.receive()).has_value(); });
  return *frame;
}

} // namespace quell::testing
