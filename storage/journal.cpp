// The journal: its queue, its writer thread, and how a store is opened.
#include "storage/journal.hpp"

#include <SQLiteCpp/Database.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "controller/store_code.hpp"
#include "protocol/urgency.hpp"
#include "storage/ballast.hpp"
#include "storage/committer.hpp"
#include "storage/directory.hpp"
#include "storage/faults.hpp"
#include "storage/recovery.hpp"
#include "storage/schema.hpp"
#include "storage/sqlite_setup.hpp"
#include "storage/wal_space.hpp"

namespace quell::storage {
namespace {

/// A transaction takes waiting batches until it has about this many rows: a longer one would delay a cancel.
constexpr std::size_t rows_per_commit = 1'000;

struct opened {
  std::unique_ptr<SQLite::Database> database;
  recovered_state state;
};

result<opened> open_database(const journal::options& o) {
  const auto path = o.directory + "/" + database_file;
  if (auto writable = private_file(path); !writable) return tl::unexpected(writable.error());
  leave_memory_uncounted();
  opened store;
  store.database = std::make_unique<SQLite::Database>(path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX,
                                                      static_cast<int>(o.busy_timeout.count()));
  set_up_writer(*store.database);
  if (auto begun = begin_epoch(*store.database, o.directory, o.origin); !begun) return tl::unexpected(begun.error());
  store.state = recover(*store.database, o.directory);
  return store;
}

/// As above, with one retry without the ballast if the disk is full.
result<opened> open_or_say_why(const journal::options& o, ballast& reserve) {
  for (const bool last : {false, true}) try {
      return open_database(o);
    } catch (const std::exception& e) {
      if (!last && is_out_of_space(e) && reserve.drop()) continue;
      return tl::unexpected(to_fault(e, o.directory, "open the database"));
    }
  return failure(store_code::store_error, "the database in " + o.directory + " could not be opened");
}

class sqlite_journal final : public journal {
 public:
  sqlite_journal(options o, directory_lock lock)
      : options_(std::move(o)), lock_(std::move(lock)),
        reserve_(options_.directory, options_.reserve_bytes, options_.ballast_bytes) {}

  ~sqlite_journal() override { close(); }

  result<void> start() {
    auto store = open_or_say_why(options_, reserve_);
    if (!store) return tl::unexpected(store.error());
    reserve_.tend();
    if (reserve_.leaves_room_for(options_.prepared_wal_bytes))
      prepare_wal(options_.directory + "/" + database_file, options_.prepared_wal_bytes);
    recovered_ = std::move(store->state);
    committer_ = std::make_unique<committer>(std::move(store->database), options_, reserve_);
    thread_ = std::jthread([this] { write_until_closed(); });
    return {};
  }

  recovered_state take_recovered() override { return std::exchange(recovered_, {}); }

  void on_commit(std::function<void(const commit_notice&)> notice) override {
    const std::lock_guard guard(mutex_);
    notice_ = std::move(notice);
  }

  std::uint64_t submit(std::vector<entry> batch) override {
    std::uint64_t ticket = 0;
    {
      const std::lock_guard guard(mutex_);
      if (closing_) return 0;
      ticket = ++last_ticket_;
      waiting_.push_back({ticket, std::move(batch), known_refusal_});
    }
    wake_.notify_one();
    return ticket;
  }
  void refusal_known(std::uint64_t ticket) override {
    const std::lock_guard guard(mutex_);
    known_refusal_ = std::max(known_refusal_, ticket);
  }

  bool is_low() const override { return reserve_.is_low(); }

  void close() override {
    {
      const std::lock_guard guard(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
    committer_.reset(); // the last connection that closes moves the WAL into the database
    lock_.reset();
  }

  const std::string& directory() const override { return options_.directory; }

 private:
  void write_until_closed() {
    take_short_turns(turns_of::deciding);
    std::vector<pending_batch> group;
    while (take(group)) {
      committer_->commit(group, notice_);
      group.clear();
    }
  }

  /// Waits for work and takes as many waiting batches as fit into one transaction. False when closed and empty.
  bool take(std::vector<pending_batch>& group) {
    std::unique_lock guard(mutex_);
    wake_.wait(guard, [&] { return !waiting_.empty() || closing_; });
    std::size_t rows = 0;
    while (!waiting_.empty() && (group.empty() || rows + waiting_.front().entries.size() <= rows_per_commit)) {
      rows += waiting_.front().entries.size();
      group.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return !group.empty();
  }

  const options options_;
  std::optional<directory_lock> lock_;
  ballast reserve_;
  recovered_state recovered_;
  std::unique_ptr<committer> committer_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<pending_batch> waiting_;
  std::function<void(const commit_notice&)> notice_;
  std::uint64_t last_ticket_ = 0, known_refusal_ = 0;
  bool closing_ = false;

  std::jthread thread_; // last: it uses all members above
};

} // namespace

result<std::unique_ptr<journal>> journal::open(options o) {
  auto lock = directory_lock::take(o.directory);
  if (!lock) return tl::unexpected(lock.error());
  auto made = std::make_unique<sqlite_journal>(std::move(o), std::move(*lock));
  if (auto started = made->start(); !started) return tl::unexpected(started.error());
  return made;
}

} // namespace quell::storage
