// The reading threads, their connections and their queues.
#include "gateway/read_pool.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "protocol/urgency.hpp"

namespace quell::controller::http {

namespace {

using clock = read_budget::clock;

constexpr std::chrono::milliseconds list_time{250};
/// The first, brief try of a list: what takes longer is read again from its beginning, at low priority.
constexpr std::chrono::milliseconds brief_time{5}, most_brief_time{20};
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
  struct line {
    std::deque<job> jobs;
    std::condition_variable came;
  };
  std::array<line, 3> lanes; ///< by lane
  std::condition_variable brief_came, list_came;
  std::optional<list_queue<queued_list>> lists;
  bool stopping = false;
  std::vector<std::thread> all;

  line& line_of(lane where) { return lanes[static_cast<std::size_t>(where)]; }

  void serve(line& from, store_reader& store) {
    std::unique_lock lock(mutex);
    while (true) {
      from.came.wait(lock, [&] { return stopping || !from.jobs.empty(); });
      if (from.jobs.empty()) return;
      const auto next = std::move(from.jobs.front());
      from.jobs.pop_front();
      lock.unlock();
      next(store);
      lock.lock();
    }
  }

  /// Under the lock: reads one list without it.
  list_progress read(std::unique_lock<std::mutex>& lock, limited_store_reader& store,
                     const list_queue<queued_list>::taken& next) {
    const auto begun = clock::now();
    const bool is_brief = next.how == list_try::brief;
    read_budget budget{begun + (is_brief ? brief_time : list_time),
                       begun + (is_brief ? most_brief_time : most_list_time), next.job.abandoned};
    if (stopping) budget.end = begun;
    lock.unlock();
    store.limit(std::move(budget));
    const auto progress = next.job.read(store, next.how);
    lock.lock();
    const auto ended = clock::now();
    lists->done(next, ended - begun, ended);
    return progress;
  }

  void serve_brief(limited_store_reader& store) {
    take_short_turns();
    std::unique_lock lock(mutex);
    while (true) {
      auto next = lists->take(list_try::brief);
      if (!next && stopping) return;
      if (!next) {
        brief_came.wait(lock);
        continue;
      }
      if (lists->is_worth_trying(*next, clock::now())) {
        if (read(lock, store, *next) == list_progress::answered) continue;
      } else {
        lists->done(*next, {}, clock::now());
      }
      lists->read_in_full(std::move(*next));
      list_came.notify_one();
    }
  }

  void serve_lists(limited_store_reader& store) {
    // If this fails, the list threads are only less fair.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness_of_lists);
    std::unique_lock lock(mutex);
    while (true) {
      const auto next = lists->take(list_try::full);
      if (!next && stopping) return;
      if (!next) {
        list_came.wait(lock);
        continue;
      }
      read(lock, store, *next);
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

read_pool::read_pool() : threads_(std::make_unique<threads>()) {}

read_pool::~read_pool() { stop(); }

result<std::unique_ptr<read_pool>> read_pool::open(const open_limited_store& open_store, unsigned list_threads) {
  auto reader = std::unique_ptr<read_pool>(new read_pool());
  auto& t = *reader->threads_;
  t.lists.emplace(std::max(1U, list_threads - 1)); // so that other callers find a free thread at once
  const auto add = [&](auto serve) -> result<void> {
    auto opened = open_store();
    if (!opened) return tl::unexpected(opened.error());
    t.all.emplace_back([serve, store = std::shared_ptr<limited_store_reader>(std::move(*opened))] { serve(*store); });
    return {};
  };
  const auto rows_of = [&](lane where) {
    return add([&t, where](limited_store_reader& store) {
      if (where != lane::watching) take_short_turns();
      t.serve(t.line_of(where), store);
    });
  };
  auto added = rows_of(lane::urgent);
  for (unsigned i = 0; added && i < row_threads; ++i) added = rows_of(lane::rows);
  if (added) added = rows_of(lane::watching);
  if (added) added = add([&t](limited_store_reader& store) { t.serve_brief(store); });
  for (unsigned i = 0; added && i < list_threads; ++i)
    added = add([&t](limited_store_reader& store) { t.serve_lists(store); });
  if (!added) return tl::unexpected(added.error());
  return reader;
}

void read_pool::stop() {
  {
    const std::lock_guard lock(threads_->mutex);
    threads_->stopping = true;
  }
  for (auto& line : threads_->lanes) line.came.notify_all();
  threads_->brief_came.notify_all();
  threads_->list_came.notify_all();
  for (auto& thread : threads_->all)
    if (thread.joinable()) thread.join();
}

void read_pool::run(lane where, job what) {
  auto& line = threads_->line_of(where);
  {
    const std::lock_guard lock(threads_->mutex);
    if (threads_->stopping) return; // nobody waits for it any more
    line.jobs.push_back(std::move(what));
  }
  line.came.notify_one();
}

void read_pool::run_list(list_share whose, list_job what, std::function<void(fault)> refused) {
  std::vector<queued_list> dead;
  std::optional<list_try> waits_for;
  {
    const std::lock_guard lock(threads_->mutex);
    if (threads_->stopping) return;
    const auto is_dead = [](const queued_list& j) { return j.is_dead(); };
    const auto drop = [&dead](queued_list j) { dead.push_back(std::move(j)); };
    waits_for = threads_->lists->put(whose.who, {std::move(what), refused, std::move(whose.abandoned)}, whose.nature,
                                     whose.most_waiting, clock::now(), is_dead, drop);
  }
  for (auto& job : dead) job.refused({"abandoned", "", {}});
  if (waits_for)
    (*waits_for == list_try::brief ? threads_->brief_came : threads_->list_came).notify_one();
  else
    refused({"too_many_lists", "", {}});
}

} // namespace quell::controller::http
