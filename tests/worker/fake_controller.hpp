// A controller that a test plays by hand: real sockets and codec, the real quell-worker on the other side.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "protocol/channel.hpp"
#include "protocol/codec.hpp"
#include "protocol/join.hpp"
#include "protocol/socket.hpp"

namespace quell::test {

class fake_controller {
 public:
  fake_controller();
  ~fake_controller();

  /// Welcomes hellos from now on (the default), or leaves them unanswered.
  void welcoming(bool yes);
  void answering_heartbeats(bool yes);
  void storing_results(bool yes);
  /// Sets the welcome's values.
  void lease(std::chrono::milliseconds length, std::chrono::milliseconds heartbeat);
  void epoch(std::uint64_t number);

  std::string join_text() const;
  std::string worker_public_key() const { return worker_keys_.public_key; }

  /// A numbered frame in the current session.
  void tell(wire::message body);
  /// A frame of any session.
  void tell_raw(wire::envelope frame);
  void tell_bulk(wire::bulk_message m);
  session_id session();

  /// Waits (bounded) until `test` is true of all received frames.
  bool until(const std::function<bool()>& test, std::chrono::milliseconds limit = std::chrono::seconds{60});

  /// The result of `look`, computed while no frame is received.
  template <class Look>
  auto see(Look look) {
    const std::lock_guard lock(mutex_);
    return look();
  }

  // Received frames, written by other threads: read them only inside `until` or `see`.
  std::vector<wire::hello> hellos;
  std::vector<wire::message> messages;
  std::vector<std::string> order; ///< "ack:N", "stopping", … as they came, for questions of order
  std::map<std::pair<operation_id, stream>, std::string> output;
  std::map<std::pair<operation_id, stream>, bool> output_ended;
  std::vector<wire::bulk_message> bulk;
  std::uint64_t farewells = 0;
  std::uint64_t bulk_links = 0;
  bool acknowledging_output = true;

  template <class T>
  const T* find(const operation_id& operation) {
    for (auto& m : messages)
      if (auto* t = std::get_if<T>(&m); t && t->operation == operation) return t;
    return nullptr;
  }
  template <class T>
  std::size_t count(const operation_id& operation) {
    std::size_t n = 0;
    for (auto& m : messages)
      if (auto* t = std::get_if<T>(&m); t && t->operation == operation) ++n;
    return n;
  }
  /// Waits for the end of a task and returns it (FAILs the test if it does not come).
  wire::task_ended ended(const operation_id& operation, std::chrono::milliseconds limit = std::chrono::seconds{60});

 private:
  void control_frame(const peer& from, std::string_view bytes);
  void bulk_frame(const peer& from, std::string_view bytes);
  void send(wire::message body, std::uint64_t number);

  key_pair server_keys_ = key_pair::generate();
  key_pair worker_keys_ = key_pair::generate();
  std::unique_ptr<server_socket> control_, bulk_;
  cluster_id cluster_ = cluster_id::fresh();
  std::uint64_t epoch_ = 1;
  bool welcoming_ = true, answering_ = true, storing_ = true;
  std::chrono::milliseconds lease_{10000}, heartbeat_{1000};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string control_route_, bulk_route_;
  session_id session_;
  channel_sender sender_;
  channel_receiver receiver_;
  std::jthread control_thread_, bulk_thread_;
};

/// The real program as a child process; killed and reaped at the end.
class worker_process {
 public:
  worker_process(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {});
  ~worker_process();
  void signal(int number) const;
  /// Waits (bounded) for its end; the exit code, or 128 + signal, or -1 if it still lives.
  int wait(std::chrono::milliseconds limit = std::chrono::seconds{60});
  pid_t pid() const { return pid_; }
  /// Its stderr output so far.
  std::string log() const;
  static std::string binary();

 private:
  pid_t pid_ = -1;
  int code_ = -1;
  std::string log_file_;
};

/// A directory that vanishes with the test.
struct scratch_directory {
  scratch_directory();
  ~scratch_directory();
  std::string path;
};

} // namespace quell::test
