// Output of tasks, and input for them, as others see the files that the bulk socket fills.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/task.hpp"
#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller {

/// Bytes in an open file, which stay readable when the file is removed.
struct file_range {
  std::shared_ptr<const int> descriptor; ///< closed with its last owner
  std::uint64_t from = 0;                ///< in the file
  std::uint64_t length = 0;
};

/// Output of tasks: the bulk socket's thread writes the files, the front ends read them. Thread-safe; does not block
/// for long.
class output_reader {
 public:
  struct slice {
    std::uint64_t offset = 0; ///< of the first byte returned (later than the requested one if older bytes are gone)
    std::string bytes;
    std::uint64_t size = 0;    ///< bytes ever written to the stream, as far as known here
    std::uint64_t oldest = 0;  ///< offset of the oldest kept byte
    std::uint64_t dropped = 0; ///< bytes lost (on the worker, or pruned here)
    bool end = false;          ///< the stream is complete and this slice reaches its end
  };
  virtual ~output_reader() = default;
  virtual result<slice> read(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit_bytes) = 0;
  /// A slice whose bytes are in `about`, or in a file, so that many bytes need no copy on their way to a client.
  struct located {
    slice about;
    std::optional<file_range> stored; ///< if set, `about.bytes` is empty
    std::uint64_t length() const { return stored ? stored->length : about.bytes.size(); }
  };
  /// As `read`, but a store that keeps bytes in files leaves many of them there.
  virtual result<located> locate(const operation_id& id, stream which, std::uint64_t offset,
                                 std::size_t limit_bytes) = 0;
  virtual output_counts counts(const operation_id& id) = 0;
  /// Pieces of both streams in the order received, after position `after` (for SSE): (stream, offset, length) index
  /// entries.
  struct piece {
    stream which;
    std::uint64_t offset, length;
    wall_time at{}; ///< when it arrived from the worker, accurate to about a second
  };
  virtual std::vector<piece> order(const operation_id& id, std::uint64_t after_piece, std::size_t limit) = 0;
  /// Calls `wake` once (on any thread) when there is more than the caller has seen (bytes of both streams, end).
  /// Returns a ticket for `forget`.
  virtual std::uint64_t watch(const operation_id& id, std::uint64_t seen_stdout, std::uint64_t seen_stderr,
                              std::function<void()> wake) = 0;
  virtual void forget(std::uint64_t ticket) = 0;
};

/// A task's stdin after some bytes of input.
enum class stdin_then : std::uint8_t { open, closed };

/// The same, with what changes it.
class output_store : public output_reader {
 public:
  /// Removes the kept output of an operation that ended long ago.
  virtual void drop(const operation_id& id) = 0;
  /// Queues input for a task to its worker (bounded). Returns the offset taken so far. Faults: not_found, invalid_field
  /// (no stdin), rate_limited (buffer full: try again later).
  virtual result<std::uint64_t> input(const operation_id& id, const std::string& worker, std::uint64_t offset,
                                      std::string bytes, stdin_then then) = 0;
  /// How much input has been delivered: only input that the worker has handed to the task survives the end of this
  /// process.
  struct input_progress {
    std::uint64_t handed = 0; ///< all bytes below this offset were handed to the task
    bool end_handed = true;   ///< true also if no end was sent
    bool is_closed = false;   ///< the task no longer reads
  };
  virtual input_progress input_reached(const operation_id& id, std::uint64_t taken) = 0;
};

} // namespace quell::controller
