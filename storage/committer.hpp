// Batches into durable commits. If a commit fails: give up the ballast, retry, report the outcome.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/ballast.hpp"
#include "storage/checkpointer.hpp"
#include "storage/journal.hpp"
#include "storage/writer.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// One submitted batch on its way to disk.
struct pending_batch {
  std::uint64_t ticket = 0;
  std::vector<entry> entries;
  std::uint64_t known_refusal = 0; ///< the newest refused ticket that its submitter knew
};

/// Decides which thread moves a long WAL into the database: a thread beside the writer, or the writer itself between
/// two commits (which delays it, but needs no thread and no second connection).
enum class checkpoints : bool { beside_the_writer, by_the_writer };

/// Runs on the writer thread. Throws nothing.
class committer {
 public:
  using notice_function = std::function<void(const journal::commit_notice&)>;

  committer(std::unique_ptr<SQLite::Database> database, const journal::options& options, ballast& reserve,
            checkpoints who = checkpoints::beside_the_writer);
  ~committer();

  /// Commits all of `group` in one transaction, or, if that fails, each batch on its own; reports every outcome in
  /// ticket order.
  void commit(std::span<const pending_batch> group, const notice_function& notice);
  /// True if the batch will be refused refused_batches; the batches beside it are then committed each on its own.
  bool is_barred(const pending_batch& batch) const;

 private:
  enum class verdict { written, locked, broken, refused };
  struct outcome {
    verdict what = verdict::written;
    fault why;
  };

  outcome attempt(std::span<const pending_batch> group);
  outcome attempt_again_without_ballast(std::span<const pending_batch> group);
  void refused(const pending_batch& batch, const fault& why);
  void prune(std::span<const pending_batch> group);
  void keep_wal_short();
  void count_changes(std::span<const pending_batch> group);

  const journal::options& options_;
  ballast& reserve_;
  std::unique_ptr<SQLite::Database> database_;
  std::unique_ptr<writer> writer_;
  std::optional<fault> broken_; // once set, nothing is written until the next start
  std::optional<checkpointer> checkpointer_;
  std::uint64_t last_refusal_ = 0;     // a ticket; 0 = none
  std::uint64_t last_refused_end_ = 0; // the newest of those with an end or a cancel
  fault why_refused_;
  std::uint64_t frames_nudged_at_ = 0;
  std::uint64_t events_since_prune_ = 0;
  bool out_of_space_ = false; // the last attempt failed for lack of space
};

} // namespace quell::storage
