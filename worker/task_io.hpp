// The streams of all tasks on the bulk thread: reads output into buffers, writes input, sends pieces while the window
// allows.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/messages.hpp"
#include "worker/input_buffer.hpp"
#include "worker/output_buffer.hpp"
#include "worker/task_streams.hpp"

namespace quell::worker {

class task_io {
 public:
  enum class port : std::uint8_t { out, err, in };
  struct settings {
    output_buffer::settings output;
    std::size_t output_bytes;
    std::size_t window_bytes;
  };
  /// Sends a piece of a stream; false if the socket is full.
  using send_piece = std::function<bool(const operation_id&, stream which, const output_buffer::piece&)>;
  /// `token(serial, port)` is the epoll data; `say` queues messages that must not be lost.
  task_io(settings s, int epoll, std::function<std::uint64_t(std::uint64_t, port)> token, send_piece send,
          std::function<void(wire::bulk_message)> say);

  void add(task_streams streams);
  /// Reads the rest, closes everything and returns the final counts. The buffered bytes stay until they are
  /// acknowledged.
  output_counts finish(const operation_id& operation, boot_time now);
  /// Drops the operation; nothing more is reported about it.
  void forget(const operation_id& operation);
  void hang_up(const operation_id& operation);
  void resize(const operation_id& operation, std::uint16_t rows, std::uint16_t columns);

  void ready(std::uint64_t serial, port which, boot_time now);
  void receive(const wire::output_ack& m, boot_time now);
  void receive(const wire::input& m);

  /// Resends everything that is not acknowledged.
  void rewind(boot_time now);
  void link(bool is_up) { up_ = is_up; }
  /// Sends while window and socket allow; checks stalled streams again.
  void turn(boot_time now);
  /// When `turn` can next have work without an event.
  std::optional<boot_time> next_turn() const;
  bool blocked() const { return blocked_; }
  /// The instant since which sent data has been unacknowledged; nullopt = nothing is unacknowledged.
  std::optional<boot_time> silent_since() const;
  bool idle() const { return tasks_.empty(); }
  /// True if the controller has acknowledged everything in all buffers.
  bool flushed() const;

 private:
  struct flow {
    flow(output_buffer::settings s, output_budget& b) : buffer(s, b) {}
    unique_fd fd;
    output_buffer buffer;
    bool watched = false;
    bool paused = false;
    bool queued = false;
    int end_tries = 0;
  };
  struct task {
    task(task_streams s, std::uint64_t n, output_buffer::settings o, output_budget& b);
    operation_id operation;
    std::uint64_t serial;
    bool pty;
    flow out, err;
    unique_fd in;
    input_buffer input;
    bool input_watched = false;
    bool finished = false;
  };
  using place = std::pair<std::uint64_t, port>;

  task* find(const operation_id& operation);
  task* find(std::uint64_t serial);
  static flow& flow_of(task& t, port which) { return which == port::err ? t.err : t.out; }
  void watch(task& t, port which);
  void unwatch(flow& f);
  void read(task& t, port which, boot_time now);
  void drain(flow& f);
  void end_flow(task& t, port which);
  void close_flow(task& t, port which);
  void announce_ends(boot_time now);
  void enqueue(task& t, port which);
  void write_input(task& t);
  void close_input(task& t);
  void settle(task& t);

  settings settings_;
  int epoll_;
  std::function<std::uint64_t(std::uint64_t, port)> token_;
  send_piece send_;
  std::function<void(wire::bulk_message)> say_;
  output_budget budget_;
  std::unordered_map<std::uint64_t, std::unique_ptr<task>> tasks_;
  std::unordered_map<operation_id, std::uint64_t> serials_;
  std::deque<place> sendable_;
  std::vector<place> paused_;
  std::deque<std::pair<boot_time, place>> quiet_; ///< streams that ended before their task, and when that is said
  std::uint64_t last_serial_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t ends_open_ = 0; ///< end marks sent since the last acknowledgement of any kind
  boot_time received_{};
  bool up_ = false;
  bool blocked_ = false;
  std::string scratch_;
};

} // namespace quell::worker
