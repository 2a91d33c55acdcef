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

#include "protocol/fault.hpp"
#include "storage/history.hpp"
#include "storage/records.hpp"

namespace quell::storage {

// The entries that can be written. Rows are replaced whole by key unless stated otherwise.
struct put_operation {
  operation_record record;
}; ///< insert
struct update_operation {
  operation_id id;
  operation_hot hot;
}; ///< the part that changes while it lives
struct put_cancel {
  cancel_record record;
}; ///< insert or replace
struct put_cutoff {
  cutoff_record record;
};
struct drop_cutoff {
  scope_path scope;
};
struct put_tombstone {
  tombstone_record record;
};
struct drop_tombstone {
  operation_id id;
};
struct put_worker {
  worker_record record;
};
struct drop_worker {
  std::string name;
};
struct put_token {
  token_record record;
};
struct drop_token {
  token_id id;
};
struct put_event {
  event_record record;
};
/// Insert. A message of role assistant must be followed at once by its calls and by the message that will show their
/// results.
struct put_message {
  message_record record;
};
/// Insert, without a result even if the record has one.
struct put_call {
  call_record record;
};
/// The only result of a call: the first one is kept, a later one changes nothing; without effect if the operation is
/// not a call.
struct put_call_result {
  operation_id operation;
  call_outcome outcome;
};
/// The user's message for this turn was taken back before the turn began.
struct discard_message {
  operation_id turn;
};
/// The stop that a message ordered is acknowledged.
struct acknowledge_message {
  message_id message;
};
// Deletions of old, finished rows (see `old_rows`). Each one affects only the named rows, and only if its condition
// still holds.
/// An ended operation that no kept one has as its parent.
struct drop_operation {
  operation_id id;
};
/// A settled cancel.
struct drop_cancel {
  cancel_id id;
};
/// Events up to and including this id, at most 1,000 of them; the newest one of all always stays.
struct drop_events {
  std::uint64_t up_to = 0;
};
/// seq numbers below `limit` may be handed out before the next commit of a higher limit; a restart continues at
/// `limit`.
struct reserve_seq {
  std::uint64_t limit = 0;
};

using entry =
    std::variant<put_operation, update_operation, put_cancel, put_cutoff, drop_cutoff, put_tombstone, drop_tombstone,
                 put_worker, drop_worker, put_token, drop_token, put_event, reserve_seq, drop_operation, drop_cancel,
                 drop_events, put_message, put_call, put_call_result, discard_message, acknowledge_message>;

/// True for an end, and for rows that are valid only because ends were written before them: a settled cancel, a cutoff
/// that is no longer needed, a worker that is gone. On disk they must not exist without those ends.
bool speaks_of_ends(const entry& what);

/// The state on disk when the journal is opened; only the part that the controller must hold in memory.
struct recovered_state {
  cluster_id cluster;
  std::uint64_t epoch = 0;    ///< already raised for this start
  std::uint64_t next_seq = 1; ///< above every number ever handed out
  std::uint64_t next_event = 1;
  /// Rows with a lower seq were read from a backup: events between the backup and its restore are unknown
  /// (`options.restored`; remembered by every later start). 0 = this store was never restored.
  std::uint64_t restored_below = 0;
  std::vector<operation_record> live;      ///< by seq, ascending (parents before children)
  std::vector<cancel_record> open_cancels; ///< not settled, by seq
  std::vector<cutoff_record> cutoffs;
  std::vector<tombstone_record> tombstones;
  std::vector<worker_record> workers;
  std::vector<token_record> tokens;
};

class journal {
 public:
  struct options {
    std::string directory;                  ///< the state directory; made 0700 if missing
    std::uint64_t reserve_bytes = 16 << 20; ///< with less free space, `is_low()` is true and starts are refused
    std::uint64_t ballast_bytes =
        8 << 20; ///< allocated beforehand; given up so that cancels and ends can still be written
    std::uint64_t keep_events = 100'000;
    bool restored = false; ///< a restored backup: jump far ahead (DESIGN 5)
    /// After a batch was refused, later batches that depend on terminal rows are refused, too, until their submitter
    /// knows of it.
    bool ends_keep_order = false;
    milliseconds busy_timeout{5000}; ///< wait for another process's lock, then `database_locked`
  };
  /// The outcome of all batches up to and including `ticket`. If `failure` is set, this batch could not be written
  /// (nothing of it is on disk).
  struct commit_notice {
    std::uint64_t ticket = 0;
    std::optional<fault> failure;
  };
  /// Locks the directory, opens or makes the database, migrates, raises the epoch, recovers, starts the writer. Faults:
  /// `state_in_use` (names the pid), `read_only`, `database_locked`, `database_corrupt`, `newer_schema`; each says what
  /// to do.
  static result<std::unique_ptr<journal>> open(options o);
  virtual ~journal() = default;

  virtual recovered_state take_recovered() = 0;
  /// `notice` is called on the writer thread, in ticket order; it must not block. Set once, before the first submit.
  virtual void on_commit(std::function<void(const commit_notice&)> notice) = 0;
  /// Queues a batch (all or nothing) and returns its ticket, 1, 2, 3 … Thread safe. Waiting batches are committed
  /// together (at most about 1,000 rows per transaction). On a full disk the ballast is given up and the batch is
  /// retried once; if it still fails, its notice says so. An empty batch is a barrier: its notice comes after all
  /// earlier ones. Returns 0, and writes nothing, after `close`.
  virtual std::uint64_t submit(std::vector<entry> batch) = 0;
  /// With `ends_keep_order`: the submitter of all later batches knows that this ticket was refused.
  virtual void refusal_known(std::uint64_t ticket) { (void)ticket; }
  /// True while free space is below the reserve (checked at each commit, and by this call at least once a second).
  /// Thread safe.
  virtual bool is_low() const = 0;
  /// Writes the queued batches and stops the thread. The destructor calls it, too.
  virtual void close() = 0;

  virtual const std::string& directory() const = 0;
};

} // namespace quell::storage
