// The bulk loop: one thread that moves task output, task input and relayed HTTP, so that the session loop, which
// applies stops, never waits for bytes.
//
// Commands and answers pass between the two threads in two small queues, each with an eventfd. The answer to `finish`
// carries the final counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "protocol/socket.hpp"
#include "protocol/task.hpp"
#include "worker/output_buffer.hpp"
#include "worker/task_streams.hpp"

namespace quell::worker {

class bulk_loop {
 public:
  struct settings {
    client_socket::options socket;
    output_buffer::settings output;
    std::size_t output_bytes = 256 * 1024 * 1024; ///< for all tasks together
    std::size_t window_bytes = 4 * 1024 * 1024;   ///< output sent but not acknowledged
    std::chrono::milliseconds silence{3000};      ///< resend after this long without an acknowledgement
  };
  struct finished {
    operation_id operation;
    output_counts counts;
  };
  /// Opens the socket and the relay and starts the thread.
  static result<std::unique_ptr<bulk_loop>> start(settings s);
  virtual ~bulk_loop() = default;

  /// The tasks' QUELL_URL.
  virtual const std::string& relay_url() const = 0;

  // Commands; callable from any thread; they take effect in order.
  virtual void add(task_streams streams) = 0;
  virtual void finish(const operation_id& operation) = 0;
  /// The task never began and can begin elsewhere: its streams are dropped without a report.
  virtual void forget(const operation_id& operation) = 0;
  virtual void hang_up(const operation_id& operation) = 0;
  /// So many tasks were just killed: for up to 50 ms, until as many have finished, their streams are looked at every
  /// few milliseconds instead of at each death.
  virtual void expect_deaths(std::size_t tasks) = 0;
  virtual void resize(const operation_id& operation, std::uint16_t rows, std::uint16_t columns) = 0;
  /// A control session is open: (re)connect, send the bulk hello, resend everything that is unacknowledged.
  virtual void session_opened(const session_id& session) = 0;
  virtual void session_ended() = 0;
  /// Later connections use these keys.
  virtual void use(const key_pair& own, const std::string& controller) = 0;

  /// Readable when `take_finished` has results; one reader.
  virtual int descriptor() const = 0;
  virtual std::vector<finished> take_finished() = 0;
  /// Waits until all output is acknowledged or `limit` has passed (for the clean stop). False if output remains.
  virtual bool flush(std::chrono::milliseconds limit) = 0;
};

} // namespace quell::worker
