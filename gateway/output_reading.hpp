// Reads a task's output for answers: slices on the reader threads, waits for more, and detects the end of a stream.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

inline constexpr std::size_t output_slice_bytes = 256 * 1024;
/// How long an ended task whose streams have no recorded end is followed after the last byte. The output store itself
/// gives up after 15 s without bytes, so this covers only streams that it does not know.
inline constexpr std::chrono::seconds output_linger{17};

/// A slice; an operation without output gives an empty one.
awaitable<output_store::slice> read_output(thread_context& gw, operation_id id, stream which, std::uint64_t offset,
                                           std::size_t limit);

/// Notifies `wake` once when there is more output than was seen; its destruction cancels the request.
class output_watch {
 public:
  output_watch(thread_context& gw, const operation_id& id, std::uint64_t seen_stdout, std::uint64_t seen_stderr,
               std::shared_ptr<signal> wake)
      : output_(gw.output) {
    auto io = gw.io;
    ticket_ = output_.watch(id, seen_stdout, seen_stderr,
                            [io, wake = std::move(wake)] { post_to(*io, [wake] { wake->notify(); }); });
  }
  ~output_watch() { output_.forget(ticket_); }
  output_watch(const output_watch&) = delete;
  output_watch& operator=(const output_watch&) = delete;

 private:
  output_store& output_;
  std::uint64_t ticket_ = 0;
};

/// Decides when to give up on a stream without a recorded end.
class idle_output {
 public:
  idle_output(thread_context& gw, operation_id id) : gw_(gw), id_(id) {}
  void progress() {
    quiet_since_ = std::chrono::steady_clock::now();
    idle_rounds_ = 0;
  }
  /// Call it when there is nothing new: true if the operation has ended and nothing came for a while.
  awaitable<bool> is_over();
  /// The instant of the next check, until which to wait for more.
  wait_deadline next_look() const;
  /// A watch can fire at once without progress; the pause keeps that from becoming a busy loop.
  awaitable<> pause_if_idle(signal& wake);

 private:
  thread_context& gw_;
  operation_id id_;
  bool ended_ = false;
  int idle_rounds_ = 0;
  wait_deadline quiet_since_ = std::chrono::steady_clock::now();
};

/// The row, checked for the right to read its output: every caller who sees the operation can read both streams.
awaitable<records::operation_record> output_owner(exchange& x);

} // namespace quell::controller::http
