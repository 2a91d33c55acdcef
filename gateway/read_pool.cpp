// The reading threads, their connections and their queues.
#include "gateway/read_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "gateway/fair_queue.hpp"

namespace quell::controller::http {

namespace {

using clock = read_budget::clock;

constexpr std::chrono::milliseconds list_time{250};
/// A list is refused if one slice of it takes longer than this.
constexpr std::chrono::milliseconds most_list_time{10'000};
/// Threads that read lists give priority to the threads that serve all callers.
constexpr int niceness_of_lists = 10;
constexpr unsigned row_threads = 2;

struct queued_list {
  read_pool::list_job read;
  std::function<void(fault)> refused;
  std::shared_ptr<const std::atomic<bool>> abandoned;
  bool is_dead() const { return abandoned && abandoned->load(std::memory_order_relaxed); }
};

} // namespace

struct read_pool::threads {
  std::mutex mutex;
  std::condition_variable urgent_came, row_came, list_came;
  std::deque<job> urgent, rows;
  std::optional<fair_queue<queued_list>> lists;
  bool stopping = false;
  std::vector<std::thread> all;

  void serve(std::deque<job>& jobs, std::condition_variable& came, store_reader& store) {
    std::unique_lock lock(mutex);
    while (true) {
      came.wait(lock, [&] { return stopping || !jobs.empty(); });
      if (jobs.empty()) return;
      const auto next = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      next(store);
      lock.lock();
    }
  }

  void serve_lists(limited_store_reader& store) {
    // If this fails, the list threads are only less fair.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness_of_lists);
    std::unique_lock lock(mutex);
    while (true) {
      auto next = lists->take();
      if (!next && stopping) return;
      if (!next) {
        list_came.wait(lock);
        continue;
      }
      const auto begun = clock::now();
      read_budget budget{begun + list_time, begun + most_list_time, next->second.abandoned};
      if (stopping) budget.end = begun;
      lock.unlock();
      store.limit(std::move(budget));
      next->second.read(store);
      lock.lock();
      lists->done(next->first, static_cast<std::uint64_t>((clock::now() - begun).count()));
      list_came.notify_one(); // a job that waited for this caller's share can run now
    }
  }
};

void throw_read_fault(const fault& f) {
  if (f.code == "abandoned") throw problem{.code = "bad_request", .detail = "the client has gone"};
  if (f.code == "too_slow")
    throw problem{.code = "storage_unavailable",
                  .detail = "this list reads too much; narrow it: by scope, owner, parent, root or status=live"};
  if (f.code == "too_many_lists")
    throw problem{.code = "rate_limited",
                  .detail = std::to_string(most_waiting_lists) +
                            " lists of this token wait already; wait for their answers, or watch events instead",
                  .headers = {{"Retry-After", "1"}}};
  throw problem{.code = "storage_unavailable", .detail = f.detail};
}

void give_up_reading() {
  throw problem{.code = "storage_unavailable",
                .detail = "the store did not answer within 30 s; nothing was done, try again",
                .headers = {{"Retry-After", "5"}}};
}

read_pool::read_pool(std::shared_ptr<io_context> io) : io_(std::move(io)), threads_(std::make_unique<threads>()) {}

read_pool::~read_pool() { stop(); }

result<std::unique_ptr<read_pool>> read_pool::open(const open_limited_store& open_store, unsigned list_threads,
                                                   std::shared_ptr<io_context> io) {
  auto reader = std::unique_ptr<read_pool>(new read_pool(std::move(io)));
  auto& t = *reader->threads_;
  t.lists.emplace(std::max(1U, list_threads - 1)); // so that other callers find a free thread at once
  for (unsigned i = 0; i < 1 + row_threads + list_threads; ++i) {
    auto opened = open_store();
    if (!opened) return tl::unexpected(opened.error());
    t.all.emplace_back([&t, i, store = std::shared_ptr<limited_store_reader>(std::move(*opened))] {
      if (i == 0)
        t.serve(t.urgent, t.urgent_came, *store);
      else if (i <= row_threads)
        t.serve(t.rows, t.row_came, *store);
      else
        t.serve_lists(*store);
    });
  }
  return reader;
}

void read_pool::stop() {
  {
    const std::lock_guard lock(threads_->mutex);
    threads_->stopping = true;
  }
  threads_->urgent_came.notify_all();
  threads_->row_came.notify_all();
  threads_->list_came.notify_all();
  for (auto& thread : threads_->all)
    if (thread.joinable()) thread.join();
}

void read_pool::run(lane where, job what) {
  const bool is_urgent = where == lane::urgent;
  {
    const std::lock_guard lock(threads_->mutex);
    if (threads_->stopping) return; // nobody waits for it any more
    (is_urgent ? threads_->urgent : threads_->rows).push_back(std::move(what));
  }
  (is_urgent ? threads_->urgent_came : threads_->row_came).notify_one();
}

void read_pool::run_list(list_share whose, list_job what, std::function<void(fault)> refused) {
  std::vector<queued_list> dead;
  bool taken = true;
  {
    const std::lock_guard lock(threads_->mutex);
    if (threads_->stopping) return;
    const auto is_dead = [](const queued_list& j) { return j.is_dead(); };
    const auto drop = [&dead](queued_list j) { dead.push_back(std::move(j)); };
    taken = threads_->lists->put(whose.who, {std::move(what), refused, std::move(whose.abandoned)}, whose.most_waiting,
                                 is_dead, drop);
  }
  for (auto& job : dead) job.refused({"abandoned", "", {}});
  if (taken)
    threads_->list_came.notify_one();
  else
    refused({"too_many_lists", "", {}});
}

} // namespace quell::controller::http
