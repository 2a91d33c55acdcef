// Measures the journal: rows and batches submitted, and the time until they were durable. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "gateway/histogram.hpp"
#include "protocol/time.hpp"

namespace quell::controller {

class journal_meter {
 public:
  struct numbers {
    std::uint64_t batches = 0, rows = 0, failures = 0;
    std::uint64_t waiting = 0; ///< batches that are not durable yet
    histogram commit_seconds;  ///< from submission to durable
  };

  /// A batch with this ticket was submitted at `at`. Its notice can have come already.
  void submitted(std::uint64_t ticket, std::size_t rows, boot_time at, boot_time now) {
    const std::lock_guard lock(mutex_);
    ++numbers_.batches;
    numbers_.rows += rows;
    if (ticket <= done_)
      observe(at, now);
    else
      waiting_.emplace_back(ticket, at);
  }
  /// All batches up to this ticket are on disk, or the one with this ticket failed.
  void noticed(std::uint64_t ticket, bool has_failed, boot_time now) {
    const std::lock_guard lock(mutex_);
    if (has_failed) ++numbers_.failures;
    done_ = ticket;
    for (; !waiting_.empty() && waiting_.front().first <= ticket; waiting_.pop_front())
      observe(waiting_.front().second, now);
  }
  numbers now() const {
    const std::lock_guard lock(mutex_);
    auto n = numbers_;
    n.waiting = waiting_.size();
    return n;
  }

 private:
  void observe(boot_time from, boot_time to) {
    numbers_.commit_seconds.observe(static_cast<double>((to - from).count()) / 1e9);
  }
  mutable std::mutex mutex_;
  numbers numbers_;
  std::deque<std::pair<std::uint64_t, boot_time>> waiting_;
  std::uint64_t done_ = 0;
};

} // namespace quell::controller
