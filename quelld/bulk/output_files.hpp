// Output of tasks in files: `output/XX/ID/stdout.OFFSET`, segments named by their first offset, so that a gap (dropped
// bytes) is simply a segment that begins later. Outside the journal: the worker sends a lost tail again, since it keeps
// everything that is not acknowledged.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controller/output_reader.hpp"
#include "controller/service.hpp"

namespace quell::controller {

/// A descriptor that is closed with its last owner.
std::shared_ptr<const int> held_descriptor(int fd);

/// Thread-safe. The bulk thread writes the files, the gateway's threads read them.
class output_files {
 public:
  struct options {
    std::string directory; ///< created if missing
    std::uint64_t segment_bytes = 8 << 20;
    std::uint64_t keep_bytes_per_stream = 64 << 20; ///< older segments are deleted
    /// Limits small segments, since a worker that leaves gaps creates many.
    std::size_t keep_segments_per_stream = 1024;
    std::size_t most_pieces = 500'000; ///< of one operation, for the order of both streams
  };
  explicit output_files(options o);

  /// The operation runs (or is adopted): its streams are open from now on.
  void expect(const operation_id& id, const std::string& worker);
  /// The worker that may write this operation's output; nullopt = not expected, or no longer.
  std::optional<std::string> worker_of(const operation_id& id) const;
  /// Operations expected from this worker, with the position in each stream.
  struct position {
    operation_id id;
    std::uint64_t out = 0, err = 0;
  };
  std::vector<position> positions(const std::string& worker) const;

  /// Adds a piece; skips overlaps, counts gaps as dropped. Returns the offset up to which every byte is stored or known
  /// to be lost. `at`: when the piece came.
  result<std::uint64_t> append(const wire::output& piece, wall_time at = now());
  /// The worker's final counts, if the operation is its own. The streams are complete once they have that many bytes.
  void counted(const operation_id& id, const std::string& worker, const output_counts& counts);
  /// The operation is terminal: complete at once if no more bytes can come, else when the counted bytes are there (or
  /// after `give_up`).
  void close(const operation_id& id, boot_time now);
  /// Completes streams that were closed more than 15 s ago and are still short: those bytes are lost.
  void give_up(boot_time now);

  /// Removes the folder of an operation that ended long ago; does nothing while streams are open.
  void drop(const operation_id& id);

  result<output_store::slice> read(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit_bytes);
  /// The same, but at least 32 KiB stay in their file (`stored`).
  result<output_store::located> locate(const operation_id& id, stream which, std::uint64_t offset,
                                       std::size_t limit_bytes);
  output_counts counts(const operation_id& id);
  std::vector<output_store::piece> order(const operation_id& id, std::uint64_t after_piece, std::size_t limit);
  std::uint64_t watch(const operation_id& id, std::uint64_t seen_stdout, std::uint64_t seen_stderr,
                      std::function<void()> wake);
  void forget(std::uint64_t ticket);

 private:
  struct segment {
    std::uint64_t start = 0, length = 0;
  };
  struct track {
    std::vector<segment> segments;
    std::uint64_t size = 0;    ///< bytes ever written by the task, as far as known
    std::uint64_t dropped = 0; ///< in gaps and pruned segments
    bool ended = false;
  };
  /// The size of a stream at an instant; kept in the file `times`, about one per second with output.
  struct mark {
    stream which = stream::out;
    std::uint64_t offset = 0;
    wall_time at{};
  };
  struct entry {
    std::string worker;
    std::array<track, 2> streams;
    std::array<std::optional<mark>, 2> first; ///< of each stream; written together with the second one
    std::array<wall_time, 2> marked_at{};
    std::deque<output_store::piece> pieces;
    std::uint64_t pieces_gone = 0; ///< the number of pieces before the first of `pieces`
    std::optional<output_counts> final_counts;
    std::optional<boot_time> closed_at;
    bool loaded = false;
  };
  struct watcher {
    operation_id id;
    std::array<std::uint64_t, 2> seen;
    std::function<void()> wake;
  };

  /// The file to which a stream's next bytes go, so that it is not opened for each piece.
  struct open_file {
    operation_id operation;
    stream which = stream::out;
    std::uint64_t start = 0;
    std::shared_ptr<const int> descriptor;
  };

  using live_entries = std::unordered_map<operation_id, entry>;
  live_entries::iterator forget_settled(live_entries::iterator which);

  enum class pieces : bool { without, with };
  static wall_time now();
  std::string folder(const operation_id& id) const;
  entry load(const operation_id& id, pieces wanted) const;
  static void order_pieces(const std::string& folder, entry& e);
  void note_time(const operation_id& id, entry& e, mark m) const;
  void lose(const operation_id& id, stream which, track& t, std::uint64_t until);
  int segment_file(const operation_id& id, stream which, std::uint64_t start, int flags);
  void close_files(const operation_id& id);
  void prune(const operation_id& id, stream which, track& t) const;
  enum class missing_bytes : std::uint8_t { expected, given_up };
  static bool settle(entry& e, missing_bytes are);
  void wake(const operation_id& id, const entry& e, std::vector<std::function<void()>>& calls);
  entry& opened(const operation_id& id, entry& e) const;
  /// A slice without its bytes, and the file in which they are (empty path: none). Its `end` says that the stream is
  /// complete, wherever the slice lies.
  struct place {
    output_store::slice about;
    std::string path;
    std::uint64_t from = 0;   ///< in the file
    std::uint64_t length = 0; ///< of the bytes there, up to the limit
  };
  place find(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit_bytes);

  options options_;
  mutable std::mutex mutex_;
  live_entries live_;
  std::vector<open_file> open_;              ///< the one written last comes first
  std::unordered_set<operation_id> settled_; ///< the last ones that were complete
  std::deque<operation_id> settled_order_;
  std::map<std::uint64_t, watcher> watchers_;
  std::unordered_multimap<operation_id, std::uint64_t> watching_;
  std::uint64_t next_ticket_ = 1;
};

} // namespace quell::controller
