// Threads that read the store, so that no thread that serves clients waits for a disk: one for reads that a cancel
// needs, two for single rows and output, one for what streams need, one for the first milliseconds of the lists of
// callers who have used little, and some, of lower priority, for all other lists.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/store_code.hpp"
#include "controller/store_reader.hpp"
#include "gateway/awaiting.hpp"
#include "gateway/list_queue.hpp"

namespace quell::controller::http {

enum class lane : std::uint8_t {
  urgent,  ///< reads that decide whether a cancel is performed: single rows by id, nothing else
  rows,    ///< rows by id, output files
  watching ///< the same for streams, of which there can be thousands
};

inline constexpr std::size_t most_waiting_lists = 32; ///< of one token

enum class list_progress : std::uint8_t {
  answered,
  unfinished ///< only of a brief try: the list must be read once more, in full
};
/// The caller for whom a list is read.
struct list_share {
  std::string who; ///< the token; lists of one token wait for each other and do not delay those of others
  std::shared_ptr<const std::atomic<bool>> abandoned; ///< the client has disconnected; null = unknown
  std::size_t most_waiting = most_waiting_lists;
  list_nature nature = list_nature::divisible;
};

/// Part of a list, with the seq or event id after which it continues if its time ended before it was complete.
template <class T>
struct list_part {
  std::vector<T> rows;
  std::optional<std::uint64_t> cut_at;
};

[[noreturn]] void throw_read_fault(const fault& f);
/// Throws the problem that the store did not answer in time.
[[noreturn]] void give_up_reading();

/// Each job runs with a `store_reader` of its own.
class read_pool {
 public:
  static result<std::unique_ptr<read_pool>> open(const open_limited_store& open_store, unsigned list_threads);
  ~read_pool();
  read_pool(const read_pool&) = delete;
  read_pool& operator=(const read_pool&) = delete;

  using job = std::function<void(store_reader&)>;
  using list_job = std::function<list_progress(limited_store_reader&, list_try)>;
  /// Runs the queued row reads, lets list reads fail, and joins.
  void stop();
  /// Queues a job. Any thread.
  void run(lane where, job what);
  /// Queues the read of a list, or calls `refused`: too many lists of this token wait, or its client has disconnected.
  /// Any thread.
  void run_list(list_share whose, list_job what, std::function<void(fault)> refused);

  /// Waits, on the thread of `io`, for the result of `job`; its fault becomes the problem `storage_unavailable`.
  template <class T>
  awaitable<T> read(std::shared_ptr<io_context> io, lane where, std::function<result<T>(store_reader&)> job) {
    // Named, not a temporary inside co_await: g++ 12 destroys the captures of such a temporary twice.
    std::function<void(std::function<void(result<T>)>)> start =
        [this, where, job = std::move(job)](std::function<void(result<T>)> reply) {
          run(where, [job, reply = std::move(reply)](store_reader& q) { reply(job(q)); });
        };
    auto answer = co_await ask<result<T>>(std::move(io), start, give_up_reading);
    if (!answer) throw_read_fault(answer.error());
    co_return std::move(*answer);
  }

  /// Queues a job that reads a list first and tells where its time ended, `cut_at`. `reply` is called once, on another
  /// thread; not at all if the gateway ends. Any thread.
  template <class T>
  void begin_list(list_share whose,
                  std::function<result<T>(limited_store_reader&, std::optional<std::uint64_t>& cut_at)> job,
                  std::function<void(result<T>)> reply) {
    const auto refused = [reply](fault f) { reply(tl::unexpected(std::move(f))); };
    const auto read = [job = std::move(job), reply](limited_store_reader& q, list_try how) {
      std::optional<std::uint64_t> cut_at;
      auto found = job(q, cut_at);
      if (how == list_try::brief && (found ? cut_at.has_value() : has_code(found.error(), store_code::too_slow)))
        return list_progress::unfinished;
      reply(std::move(found));
      return list_progress::answered;
    };
    run_list(std::move(whose), read, refused);
  }

  /// Waits for such a job. Problems: `rate_limited` if too many lists of this token wait.
  template <class T>
  awaitable<T> read_list(std::shared_ptr<io_context> io, list_share whose,
                         std::function<result<T>(limited_store_reader&, std::optional<std::uint64_t>& cut_at)> job) {
    using answer = result<T>;
    std::function<void(std::function<void(answer)>)> start = [this, whose = std::move(whose),
                                                              job = std::move(job)](std::function<void(answer)> reply) {
      begin_list<T>(whose, job, std::move(reply));
    };
    auto found = co_await ask<answer>(std::move(io), start, give_up_reading);
    if (!found) throw_read_fault(found.error());
    co_return std::move(*found);
  }

  /// As much of a list as its time allows.
  template <class T>
  awaitable<list_part<T>> list(std::shared_ptr<io_context> io, list_share whose,
                               std::function<result<std::vector<T>>(store_reader&)> job) {
    std::function<result<list_part<T>>(limited_store_reader&, std::optional<std::uint64_t>&)> part =
        [job = std::move(job)](limited_store_reader& q, std::optional<std::uint64_t>& cut_at) -> result<list_part<T>> {
      auto rows = job(q);
      if (!rows) return tl::unexpected(rows.error());
      cut_at = q.cut_at();
      return list_part<T>{std::move(*rows), cut_at};
    };
    co_return co_await read_list<list_part<T>>(std::move(io), std::move(whose), std::move(part));
  }

 private:
  struct threads;
  read_pool();
  std::unique_ptr<threads> threads_;
};

} // namespace quell::controller::http
