// Commits in virtual time. A group is on disk at the end of its commit; its notice comes later, so that a crash finds
// every state in between.
#include "tests/simulation/store.hpp"

#include <SQLiteCpp/Database.h>

#include <algorithm>

#include "storage/faults.hpp"
#include "storage/recovery.hpp"
#include "storage/schema.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

namespace {
constexpr std::size_t rows_per_commit = 1'000; // as in storage/journal.cpp
}

store::store(world& w) : world_(w), random_(w.plan.seed, 200) {
  options_.directory = "/nonexistent-simulated";
  options_.keep_events = 1'000'000;
  options_.ordered_terminal_writes = true;
}

store::~store() {
  disk_.mount();
  random_stream r(1);
  if (committer_) disk_.crash(r); // a checkpoint is useless now
}

void store::full(bool is) {
  disk_.full(is);
  // The check of the free space comes a little later than the end of the full disk.
  world_.events.after(random_.between(0, 600) * ms, [this, is, look = ++looks_] {
    if (look == looks_) low_ = is;
  });
}

result<records::recovered_state> store::open(std::function<void(const records::commit_notice&)> notice) {
  disk_.restart();
  notice_ = std::move(notice);
  ++life_;
  last_ticket_ = known_refusal_ = 0;
  waiting_.clear();
  group_.clear();
  busy_ = false;
  try {
    auto database = std::make_unique<SQLite::Database>(storage::database_file,
                                                       SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, 0, disk::layer);
    storage::set_up_writer(*database);
    if (auto begun = storage::begin_epoch(*database, options_.directory, storage::store_origin::own_past); !begun)
      return tl::unexpected(begun.error());
    auto state = storage::recover(*database);
    ballast_ = std::make_unique<storage::ballast>(options_.directory, 0, 0);
    database_ = database.get();
    committer_ = std::make_unique<storage::committer>(std::move(database), options_, *ballast_,
                                                      storage::checkpoints::by_the_writer);
    return state;
  } catch (const std::exception& e) {
    return tl::unexpected(storage::to_fault(e, options_.directory, "open the database"));
  }
}

std::uint64_t store::submit(std::vector<records::entry> batch) {
  waiting_.push_back({++last_ticket_, std::move(batch), known_refusal_});
  begin();
  return last_ticket_;
}

void store::begin() {
  if (busy_ || waiting_.empty()) return;
  busy_ = true;
  instant takes = random_.between(150, 900) * us;
  if (slow_) takes = random_.long_tailed(20 * ms, 2 * seconds);
  std::size_t rows = 0;
  while (!waiting_.empty() && (group_.empty() || rows + waiting_.front().entries.size() <= rows_per_commit)) {
    rows += waiting_.front().entries.size();
    group_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  world_.events.after(takes, [this, life = life_] { finish(life); });
}

void store::write(std::vector<storage::pending_batch>& group) {
  committer_->commit(group, [&](const records::commit_notice& n) {
    for (const auto& batch : group)
      if (batch.ticket <= n.ticket && !batch.entries.empty()) {
        if (!n.failure)
          world_.truth.committed(batch.entries);
        else if (batch.ticket == n.ticket)
          world_.truth.not_written(batch.entries);
      }
    // Everything that was announced is done: a group that failed as a whole is announced batch by batch.
    for (auto& batch : group)
      if (batch.ticket <= n.ticket) batch.entries.clear();
    notified_at_ = std::max(notified_at_, world_.events.now() + random_.between(5, 200) * us); // in ticket order
    world_.events.at(notified_at_, [this, life = life_, n] {
      if (life == life_ && notice_) notice_(n);
    });
  });
}

void store::finish(std::uint64_t life) {
  if (life != life_) return;
  disk_.mount();
  write(group_);
  group_.clear();
  busy_ = false;
  begin();
}

void store::crash() {
  if (!committer_) return;
  disk_.mount();
  if (busy_ && random_.chance(500)) {
    // The power fails in the middle of the commit: the written part decides, and no notice is sent.
    disk_.cut_power_after(random_.below(24));
    std::vector<storage::pending_batch> copy = std::move(group_);
    auto may_arrive = copy;
    const auto barred = std::erase_if(may_arrive, [this](const auto& batch) { return committer_->is_barred(batch); });
    world_.truth.uncertain(std::move(may_arrive), barred > 0);
    committer_->commit(copy, {});
  }
  ++life_;
  disk_.crash(random_);
  committer_.reset();
  waiting_.clear();
  group_.clear();
  notice_ = nullptr;
  busy_ = false;
}

void store::close() {
  if (!committer_) return;
  disk_.mount();
  while (!group_.empty() || !waiting_.empty()) {
    if (group_.empty()) {
      group_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    write(group_);
    group_.clear();
  }
  ++life_;
  notice_ = nullptr;
  busy_ = false;
  committer_.reset();
}

} // namespace quell::simulation
