// The reading threads, their connections and their queues.
#include "gateway/read_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controller/store_code.hpp"
#include "protocol/clock_now.hpp"
#include "protocol/urgency.hpp"

namespace quell::controller::http {

namespace {

using clock = read_budget::clock;

constexpr std::chrono::milliseconds list_time{250};
/// The first, brief try of a list: what takes longer is read again from its beginning, at low priority.
constexpr std::chrono::milliseconds brief_time{3}, most_brief_time{4};
/// A list is refused if one slice of it takes longer than this.
constexpr std::chrono::milliseconds most_list_time{10'000};
/// Threads that read lists give priority to the threads that serve all callers.
constexpr int niceness_of_lists = 10;
constexpr unsigned row_threads = 2;
/// Of brief tries, one of a caller at a time: nobody waits for the try of another who has used little so far.
constexpr unsigned brief_threads = 2;

/// The processor time of this thread, as a point in time.
clock::time_point processor_now() { return clock::time_point(processor_time()); }

/// A client that goes while a file is sent to it is an error of that call, whatever the program does about SIGPIPE.
void block_broken_pipes() {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

struct queued_list {
  read_pool::list_job read;
  std::function<void(fault)> refused;
  std::shared_ptr<const std::atomic<bool>> abandoned;
  bool is_dead() const { return abandoned && abandoned->load(std::memory_order_relaxed); }
};

} // namespace

struct read_pool::threads {
  /// Jobs that are read in their order; never locked by a thread of low priority.
  struct job_lane {
    std::mutex mutex;
    std::deque<job> jobs;
    std::condition_variable came;
  };
  /// A thread that reads one list at a time.
  struct list_thread {
    explicit list_thread(list_try h) : how(h) {}
    const list_try how;
    std::binary_semaphore go{0};
    std::optional<list_queue<queued_list>::taken> job; ///< written before `go`, and again after `is_done`
    bool is_idle = true;                               ///< under `lists_mutex`
    clock::duration spent{};
    list_progress progress = list_progress::answered;
    std::atomic<bool> is_done = false; ///< `spent` and `progress` are there
  };
  std::array<job_lane, 3> lanes; ///< by lane
  /// Only threads of ordinary priority take it: a thread of low priority that lost the processor while it holds the
  /// lock would stop everybody.
  std::mutex lists_mutex;
  std::optional<list_queue<queued_list>> lists;
  std::deque<list_thread> list_threads; ///< brief ones first
  std::counting_semaphore<> list_done{0};
  std::atomic<bool> stopping = false;
  std::vector<std::thread> all;

  job_lane& lane_of(lane where) { return lanes[static_cast<std::size_t>(where)]; }

  void serve(job_lane& from, store_reader& store) {
    std::unique_lock lock(from.mutex);
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

  /// Reads the list of this thread.
  void read(list_thread& here, limited_store_reader& store) {
    const bool is_brief = here.how == list_try::brief;
    const auto begun = processor_now();
    // A brief try has so much of the processor, however long others keep it from running.
    read_budget budget = is_brief ? read_budget{begun + brief_time, begun + most_brief_time, here.job->job.abandoned,
                                                read_budget::measure::processor}
                                  : read_budget{clock::now() + list_time, clock::now() + most_list_time,
                                                here.job->job.abandoned, read_budget::measure::wall};
    budget.rests = !is_brief;
    if (stopping) budget.end = clock::time_point::min();
    store.limit(std::move(budget));
    here.progress = here.job->job.read(store, here.how);
    // Its rows are freed here, not by the thread that acts for this one.
    if (here.progress == list_progress::answered) here.job->job.read = nullptr;
    here.spent = processor_now() - begun;
    here.is_done.store(true);
  }

  void serve_lists(list_thread& here, limited_store_reader& store) {
    const bool is_brief = here.how == list_try::brief;
    take_short_turns(is_brief ? turns_of::listing : turns_of::bulk);
    if (!is_brief) // If this fails, the list threads are only less fair.
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness_of_lists);
    while (true) {
      here.go.acquire();
      if (!here.job) return;
      read(here, store);
      if (is_brief) share_out();
      if (!is_brief || stopping) list_done.release();
    }
  }

  /// Takes back the jobs that were read, and gives the next ones to the threads that are free.
  bool share_out() {
    const std::lock_guard lock(lists_mutex);
    const auto now = clock::now();
    for (auto& t : list_threads) {
      if (!t.is_done.exchange(false)) continue;
      lists->done(*t.job, t.spent, now);
      if (t.progress == list_progress::unfinished) lists->read_in_full(std::move(*t.job));
      t.job.reset();
      t.is_idle = true;
    }
    bool is_busy = false;
    for (auto& t : list_threads) {
      if (t.is_idle) give_next(t, now);
      is_busy = is_busy || !t.is_idle;
    }
    return is_busy;
  }

  /// Under the lock.
  void give_next(list_thread& to, clock::time_point now) {
    while (auto next = lists->take(to.how)) {
      if (to.how == list_try::brief && !lists->is_worth_trying(*next, now)) {
        lists->done(*next, {}, now);
        lists->read_in_full(std::move(*next));
        continue;
      }
      to.job.emplace(std::move(*next));
      to.is_idle = false;
      to.go.release();
      return;
    }
  }

  /// The thread of ordinary priority that acts for those of low priority. At the end every list has failed at once.
  void serve_list_threads() {
    take_short_turns(turns_of::deciding);
    while (true) {
      list_done.acquire();
      if (!share_out() && stopping) break;
    }
    for (auto& t : list_threads) t.go.release();
  }
};

void throw_read_fault(const fault& f) {
  if (has_code(f, store_code::abandoned))
    throw problem{.code = error_code::bad_request, .detail = "the client has gone"};
  if (has_code(f, store_code::too_slow))
    throw problem{.code = error_code::storage_unavailable,
                  .detail = "this list reads too much; narrow it: by scope, owner, parent, root or status=live"};
  if (has_code(f, store_code::too_many_lists))
    throw problem{.code = error_code::rate_limited,
                  .detail = std::to_string(most_waiting_lists) +
                            " lists of this token wait already; wait for their answers, or watch events instead",
                  .headers = {{"Retry-After", "1"}}};
  throw problem{.code = error_code::storage_unavailable, .detail = f.detail};
}

void give_up_reading() {
  throw problem{.code = error_code::storage_unavailable,
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
    t.all.emplace_back([serve, store = std::shared_ptr<limited_store_reader>(std::move(*opened))] {
      block_broken_pipes();
      serve(*store);
    });
    return {};
  };
  const auto rows_of = [&](lane where) {
    return add([&t, where](limited_store_reader& store) {
      take_short_turns(where == lane::watching ? turns_of::bulk : turns_of::deciding);
      t.serve(t.lane_of(where), store);
    });
  };
  const auto lists_of = [&](list_try how) {
    auto& made = t.list_threads.emplace_back(how);
    return add([&t, &made](limited_store_reader& store) { t.serve_lists(made, store); });
  };
  t.all.emplace_back([&t] { t.serve_list_threads(); });
  auto added = rows_of(lane::urgent);
  for (unsigned i = 0; added && i < row_threads; ++i) added = rows_of(lane::rows);
  if (added) added = rows_of(lane::watching);
  for (unsigned i = 0; added && i < brief_threads; ++i) added = lists_of(list_try::brief);
  for (unsigned i = 0; added && i < list_threads; ++i) added = lists_of(list_try::full);
  if (!added) return tl::unexpected(added.error());
  return reader;
}

void read_pool::stop() {
  {
    const std::lock_guard lock(threads_->lists_mutex); // every list that was taken before is answered
    if (threads_->stopping.exchange(true)) return;
  }
  for (auto& lane_queue : threads_->lanes) {
    const std::lock_guard lock(lane_queue.mutex); // so that nobody is between looking and waiting
    lane_queue.came.notify_all();
  }
  threads_->list_done.release();
  for (auto& thread : threads_->all) thread.join();
}

void read_pool::run(lane where, job what) {
  auto& to = threads_->lane_of(where);
  {
    const std::lock_guard lock(to.mutex);
    if (threads_->stopping) return; // nobody waits for it any more
    to.jobs.push_back(std::move(what));
  }
  to.came.notify_one();
}

void read_pool::run_list(list_share whose, list_job what, std::function<void(fault)> refused) {
  std::vector<queued_list> dead;
  bool waits = false;
  {
    const std::lock_guard lock(threads_->lists_mutex);
    if (threads_->stopping) return;
    const auto is_dead = [](const queued_list& j) { return j.is_dead(); };
    const auto drop = [&dead](queued_list j) { dead.push_back(std::move(j)); };
    waits = threads_->lists
                ->put(whose.who, {std::move(what), refused, std::move(whose.abandoned)}, whose.nature,
                      whose.most_waiting, clock::now(), is_dead, drop)
                .has_value();
  }
  for (auto& job : dead) job.refused(failure_of(store_code::abandoned, ""));
  if (waits)
    threads_->share_out();
  else
    refused(failure_of(store_code::too_many_lists, ""));
}

} // namespace quell::controller::http
