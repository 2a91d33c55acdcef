// Who may pass the CURVE handshake: the answering end of ZeroMQ's authentication protocol (ZAP, RFC 27), played in the
// server's own loop.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <zmq.hpp>

namespace quell {

/// The allowed keys and the socket on which libzmq asks about each handshake. `answer` belongs to the loop's thread.
class zap_authenticator {
 public:
  /// Must be made before the server binds: libzmq asks only where a handler listens already.
  explicit zap_authenticator(zmq::context_t& context);
  zmq::socket_t& socket() { return socket_; }

  /// Thread safe.
  void allow(std::vector<std::string> public_keys);
  /// Thread safe.
  bool is_allowed(std::string_view public_key) const;
  /// Answers every question that waits. `refused` is told of a key at most once a minute.
  void answer(const std::function<void(std::string_view key)>& refused);

 private:
  void tell(const std::string& key, const std::function<void(std::string_view key)>& refused);

  zmq::socket_t socket_;
  mutable std::mutex guard_;
  std::unordered_set<std::string> allowed_;
  std::unordered_map<std::string, std::chrono::steady_clock::time_point> told_;
};

} // namespace quell
