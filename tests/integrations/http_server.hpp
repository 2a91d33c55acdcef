// A real HTTP/1.1 server on a loopback port that a test controls: streams slowly, cuts, hangs, sends garbage, and knows
// which of its clients have hung up. One thread with poll.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/patience.hpp"

namespace quell::testing {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
inline const auto test_bound = patient(30s); ///< far above what anything here needs; a loaded machine is slow

/// One step of the server on a connection, in order.
struct move {
  enum class kind { send, wait, close, reset } what = kind::send;
  std::string bytes;
  std::chrono::milliseconds time{0};
};
using moves = std::vector<move>; ///< after the last one it waits for the next request, or for ever if it began nothing

struct http_ask {
  std::string path;
  std::map<std::string, std::string> headers; ///< names in lower case
  std::string body;
  std::size_t number = 0;     ///< of all requests, from 1
  std::size_t connection = 0; ///< from 1
};

class http_server {
 public:
  explicit http_server(std::function<moves(const http_ask&)> answer);
  ~http_server();

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  std::vector<http_ask> asks() const;
  std::size_t accepted() const { return accepted_; }
  std::size_t open() const { return open_; }
  /// Clients that hung up before the server did.
  std::size_t hung_up() const { return hung_up_; }
  steady::time_point last_hang_up() const;
  /// Fails the test if the condition does not become true in time.
  void until(const std::string& what, const std::function<bool()>& done) const;

 private:
  struct connection {
    int socket = -1;
    std::size_t number = 0;
    std::string in;
    moves todo;
    std::size_t next = 0; ///< of todo
    std::string out;
    steady::time_point not_before{};
  };
  void run();
  void accept_one();
  bool receive(connection& one);
  bool act(connection& one); ///< false: closed by us
  void parse(connection& one);
  void changed() const;

  std::function<moves(const http_ask&)> answer_;
  int listener_ = -1, waker_[2] = {-1, -1};
  int port_ = 0;
  std::vector<connection> connections_;
  mutable std::recursive_mutex guard_; // recursive: awaited conditions read the same members
  mutable std::condition_variable_any changed_;
  std::vector<http_ask> asks_;
  std::atomic<std::size_t> accepted_ = 0, open_ = 0, hung_up_ = 0;
  steady::time_point last_hang_up_{};
  std::thread loop_;
};

/// A status line and headers, then anything until the connection closes.
move head(int status, const std::string& type = "text/event-stream", const std::string& more = {});
/// The same for a body in chunks, so that the connection can be used again.
move chunked_head();
move chunk(const std::string& bytes);
move last_chunk();
move pause(std::chrono::milliseconds time);
move close_now();
move reset_now();
/// A whole answer with a length.
move whole(int status, const std::string& body, const std::string& more = {},
           const std::string& type = "application/json");

} // namespace quell::testing
