// Decides which peers pass the CURVE handshake: the answering end of ZeroMQ's authentication protocol (ZAP, RFC 27),
// run in the server's own loop.
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
  /// Must be constructed before the server binds: libzmq asks only if a handler is already listening.
  explicit zap_authenticator(zmq::context_t& context);
  zmq::socket_t& socket() { return socket_; }

  /// Thread safe.
  void allow(std::vector<std::string> public_keys);
  /// Thread safe.
  bool is_allowed(std::string_view public_key) const;
  /// Answers every waiting request. `refused` is called for a key at most once a minute.
  void answer(const std::function<void(std::string_view key)>& refused);

 private:
  void tell(const std::string& key, const std::function<void(std::string_view key)>& refused);

  zmq::socket_t socket_;
  mutable std::mutex guard_;
  std::unordered_set<std::string> allowed_;
  std::unordered_map<std::string, std::chrono::steady_clock::time_point> reported_;
};

} // namespace quell
