// Threads that read the store, so that the io thread never waits for a disk: one for reads that a cancel needs, two for
// single rows and output, and some, of lower priority, for lists.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/store_reader.hpp"
#include "gateway/awaiting.hpp"

namespace quell::controller::http {

enum class lane : std::uint8_t {
  urgent, ///< reads that decide whether a cancel is performed: single rows by id, nothing else
  rows    ///< rows by id, output files
};

inline constexpr std::size_t most_waiting_lists = 32; ///< of one token

/// The caller for whom a list is read.
struct list_share {
  std::string who; ///< the token; lists of one token wait for each other and do not delay those of others
  std::shared_ptr<const std::atomic<bool>> abandoned; ///< the client has disconnected; null = unknown
  std::size_t most_waiting = most_waiting_lists;
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
  static result<std::unique_ptr<read_pool>> open(const open_limited_store& open_store, unsigned list_threads,
                                                 std::shared_ptr<io_context> io);
  ~read_pool();
  read_pool(const read_pool&) = delete;
  read_pool& operator=(const read_pool&) = delete;

  using job = std::function<void(store_reader&)>;
  using list_job = std::function<void(limited_store_reader&)>;
  /// Runs the queued row reads, lets list reads fail, and joins.
  void stop();
  /// Queues a job. Any thread.
  void run(lane where, job what);
  /// Queues the read of a list, or calls `refused`: too many lists of this token wait, or its client has disconnected.
  /// Any thread.
  void run_list(list_share whose, list_job what, std::function<void(fault)> refused);

  /// Waits for the result of `job`; its fault becomes the problem `storage_unavailable`.
  template <class T>
  awaitable<T> read(lane where, std::function<result<T>(store_reader&)> job) {
    // Named, not a temporary inside co_await: g++ 12 destroys the captures of such a temporary twice.
    std::function<void(std::function<void(result<T>)>)> start =
        [this, where, job = std::move(job)](std::function<void(result<T>)> reply) {
          run(where, [job, reply = std::move(reply)](store_reader& q) { reply(job(q)); });
        };
    auto answer = co_await ask<result<T>>(io_, start, give_up_reading);
    if (!answer) throw_read_fault(answer.error());
    co_return std::move(*answer);
  }

  /// As much of a list as its time allows. Problems: `rate_limited` if too many lists of this token wait.
  template <class T>
  awaitable<list_part<T>> list(list_share whose, std::function<result<std::vector<T>>(store_reader&)> job) {
    using answer = result<list_part<T>>;
    std::function<void(std::function<void(answer)>)> start = [this, whose = std::move(whose),
                                                              job = std::move(job)](std::function<void(answer)> reply) {
      const auto refused = [reply](fault f) { reply(tl::unexpected(std::move(f))); };
      const auto read = [job, reply](limited_store_reader& q) {
        auto rows = job(q);
        if (rows)
          reply(list_part<T>{std::move(*rows), q.cut_at()});
        else
          reply(tl::unexpected(rows.error()));
      };
      run_list(whose, read, refused);
    };
    auto found = co_await ask<answer>(io_, start, give_up_reading);
    if (!found) throw_read_fault(found.error());
    co_return std::move(*found);
  }

 private:
  struct threads;
  explicit read_pool(std::shared_ptr<io_context> io);
  std::shared_ptr<io_context> io_;
  std::unique_ptr<threads> threads_;
};

} // namespace quell::controller::http
