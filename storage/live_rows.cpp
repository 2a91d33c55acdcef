// Each thread claims the next part, reads it without the lock, and puts it where its number says.
#include "storage/live_rows.hpp"

#include <SQLiteCpp/Database.h>

#include <system_error>
#include <utility>

#include "storage/faults.hpp"
#include "storage/live_reader.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

/// Reading a row takes about twice as long as taking it in.
constexpr int readers = 2;
constexpr std::size_t most_ahead = 16; ///< parts, of about 1.5 MB each
constexpr int busy_timeout_ms = 5'000;

} // namespace

live_rows::live_rows(std::string directory, std::uint64_t behind) : directory_(std::move(directory)), behind_(behind) {
  try {
    for (int i = 0; i < readers; ++i) threads_.emplace_back([this] { read(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw; // else one of them reads all
  }
}

live_rows::~live_rows() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
  }
  wake_readers_.notify_all();
}

std::vector<operation_record> live_rows::next() {
  std::unique_lock guard(mutex_);
  wake_taker_.wait(guard,
                   [this] { return failure_ || read_.contains(given_) || (are_all_claimed_ && given_ == claimed_); });
  if (failure_) throw records::unreadable(*failure_);
  const auto found = read_.find(given_);
  if (found == read_.end()) return {};
  auto rows = std::move(found->second);
  read_.erase(found);
  ++given_;
  guard.unlock();
  wake_readers_.notify_one();
  return rows;
}

void live_rows::read() {
  try {
    read_parts();
  } catch (const std::exception& e) {
    const std::lock_guard guard(mutex_);
    closing_ = true;
    if (!failure_) failure_ = to_fault(e, directory_, "read the live operations");
  }
  wake_readers_.notify_all();
  wake_taker_.notify_one();
}

void live_rows::read_parts() {
  SQLite::Database database(directory_ + "/" + database_file, SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX,
                            busy_timeout_ms);
  set_up_reader(database);
  live_reader reader(database);
  while (true) {
    std::unique_lock guard(mutex_);
    wake_readers_.wait(guard, [this] { return closing_ || are_all_claimed_ || claimed_ - given_ < most_ahead; });
    if (closing_ || are_all_claimed_) return;
    const auto part = reader.part_behind(behind_);
    if (!part) {
      are_all_claimed_ = true;
      return;
    }
    behind_ = part->last;
    const auto number = claimed_++;
    guard.unlock();
    std::vector<operation_record> rows;
    reader.read(*part, rows);
    guard.lock();
    read_.emplace(number, std::move(rows));
    guard.unlock();
    wake_taker_.notify_one();
  }
}

} // namespace quell::storage
