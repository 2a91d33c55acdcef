// A few threads that read the store, so that the io thread never waits for a disk.
#pragma once

#include <memory>
#include <string>

#include "controller/gateway/awaiting.hpp"
#include "storage/queries.hpp"

namespace quell::controller::http {

/// Each job runs on a thread of the pool with a `storage::queries` of its own.
class store_reader {
 public:
  static result<std::unique_ptr<store_reader>> open(const std::string& directory, unsigned threads,
                                                    std::shared_ptr<io_context> io);
  ~store_reader();
  store_reader(const store_reader&) = delete;
  store_reader& operator=(const store_reader&) = delete;

  /// Runs what is queued and joins.
  void stop();
  /// Queues a job. Any thread.
  void run(std::function<void(storage::queries&)> job);

  /// Waits for what `job` finds; its fault becomes the problem `storage_unavailable`.
  template <class T>
  awaitable<T> read(std::function<result<T>(storage::queries&)> job) {
    // Named, not a temporary inside co_await: g++ 12 destroys the captures of such a one twice.
    std::function<void(std::function<void(result<T>)>)> start =
        [this, job = std::move(job)](std::function<void(result<T>)> reply) {
          run([job, reply = std::move(reply)](storage::queries& q) { reply(job(q)); });
        };
    auto answer = co_await ask<result<T>>(io_, start);
    if (!answer) throw problem{.code = "storage_unavailable", .detail = answer.error().detail};
    co_return std::move(*answer);
  }

 private:
  struct pool;
  store_reader(unsigned threads, std::shared_ptr<io_context> io);
  std::shared_ptr<io_context> io_;
  std::unique_ptr<pool> pool_;
};

} // namespace quell::controller::http
