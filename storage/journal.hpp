// The journal: the only writer of the store. It takes batches and makes group commits (WAL, synchronous=FULL) on its
// own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/records/entries.hpp"
#include "controller/records/recovered_state.hpp"
#include "controller/row_changes.hpp"
#include "storage/record_names.hpp"
#include "storage/store_origin.hpp"

namespace quell::storage {

class journal {
 public:
  struct options {
    std::string directory;                  ///< the state directory; made 0700 if missing
    std::uint64_t reserve_bytes = 16 << 20; ///< with less free space, `is_low()` is true and starts are refused
    std::uint64_t ballast_bytes =
        8 << 20; ///< allocated beforehand; given up so that cancels and ends can still be written
    std::uint64_t keep_events = 100'000;
    /// Space of the write-ahead log that is taken beforehand, as far as the reserve stays free. The checkpointer is
    /// asked at 4 MiB, so the log seldom grows beyond this.
    std::uint64_t prepared_wal_bytes = 6 << 20;
    store_origin origin = store_origin::own_past;
    /// After a batch was refused, later batches that depend on terminal rows are refused, too, until their submitter
    /// knows of it.
    bool ordered_terminal_writes = false;
    /// Counts the changes of committed rows, before their notice; null = nobody keeps rows.
    std::shared_ptr<controller::row_changes> changes = nullptr;
    milliseconds busy_timeout{5000}; ///< wait for another process's lock, then `database_locked`
  };
  using commit_notice = records::commit_notice;
  /// Locks the directory, opens or makes the database, migrates, raises the epoch, recovers, starts the writer. Faults:
  /// `state_in_use` (names the pid), `read_only`, `database_locked`, `database_corrupt`, `newer_schema`; each says what
  /// to do.
  static result<std::unique_ptr<journal>> open(options o);
  virtual ~journal() = default;

  /// Once. Its `more_live` must have given all before the first submit, and ends with the journal.
  virtual recovered_state take_recovered() = 0;
  /// `notice` is called on the writer thread, in ticket order; it must not block. Set once, before the first submit.
  virtual void on_commit(std::function<void(const commit_notice&)> notice) = 0;
  /// Queues a batch (all or nothing) and returns its ticket, 1, 2, 3 … Thread safe. Waiting batches are committed
  /// together (at most about 1,000 rows per transaction). On a full disk the ballast is given up and the batch is
  /// retried once; if it still fails, its notice says so. An empty batch is a barrier: its notice comes after all
  /// earlier ones. Returns 0, and writes nothing, after `close`.
  virtual std::uint64_t submit(std::vector<entry> batch) = 0;
  /// With `ordered_terminal_writes`: the submitter of all later batches knows that this ticket was refused.
  virtual void refusal_known(std::uint64_t ticket) = 0;
  /// True while free space is below the reserve (checked at each commit, and by this call at least once a second).
  /// Thread safe.
  virtual bool is_low() const = 0;
  /// Writes the queued batches and stops the thread. The destructor calls it, too.
  virtual void close() = 0;

  virtual const std::string& directory() const = 0;
};

} // namespace quell::storage
