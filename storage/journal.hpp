// The journal: the one writer of the store. Batches in, group commits out (WAL, synchronous=FULL), on a thread of its
// own.
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

// What can be written. Rows are replaced whole by key unless said otherwise.
struct put_operation {
  operation_record record;
}; ///< insert
struct update_operation {
  operation_id id;
  operation_hot hot;
}; ///< the hot part
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
/// Insert. A message of role assistant is followed at once by its calls and by the message that will show their
/// results.
struct put_message {
  message_record record;
};
/// Insert, without a result, whatever the record says of one.
struct put_call {
  call_record record;
};
/// The call's one result: the first wins, a later one changes nothing; nothing happens for what is no call.
struct put_call_result {
  operation_id operation;
  call_outcome outcome;
};
/// The user's message that this turn was to answer was taken back before the turn began.
struct discard_message {
  operation_id turn;
};
/// A stop that was said is acknowledged.
struct acknowledge_message {
  message_id message;
};
// What is over and old (see `old_rows`). Each touches nothing else, and nothing at all where that is not so (any more).
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

/// An end, or what is only true because ends were written before it: a cancel that has settled, a cutoff that nothing
/// needs any more, a worker that is gone. On disk it must not stand without them.
bool speaks_of_ends(const entry& what);

/// What stands on disk when the journal is opened; only what the controller must hold in memory.
struct recovered_state {
  cluster_id cluster;
  std::uint64_t epoch = 0;    ///< already raised for this start
  std::uint64_t next_seq = 1; ///< above everything ever handed out
  std::uint64_t next_event = 1;
  /// What has a lower seq was read from a backup: what became of it between the backup and its restore is not known
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
    std::uint64_t reserve_bytes = 16 << 20; ///< below this much free space `is_low()` is true and starts are refused
    std::uint64_t ballast_bytes =
        8 << 20; ///< allocated beforehand; given up so that cancels and ends can still be written
    std::uint64_t keep_events = 100'000;
    bool restored = false; ///< a restored backup: jump far ahead (DESIGN 5)
    /// Once a batch was refused, later ones that speak of ends are refused too, until their submitter knew of it.
    bool ends_keep_order = false;
    milliseconds busy_timeout{5000}; ///< how long another process may hold the database before `database_locked`
  };
  /// What became of all batches up to and including `ticket`. `failure` set: this batch could not be written (nothing
  /// of it is on disk).
  struct commit_notice {
    std::uint64_t ticket = 0;
    std::optional<fault> failure;
  };
  /// Locks the directory, opens or makes the database, migrates, raises the epoch, recovers, starts the writer. Faults:
  /// `state_in_use` (names the pid), `read_only`, `database_locked`, `database_corrupt`, `newer_schema`, each with what
  /// to do.
  static result<std::unique_ptr<journal>> open(options o);
  virtual ~journal() = default;

  virtual recovered_state take_recovered() = 0;
  /// `notice` is called on the writer thread, in ticket order; it must not block. Set once, before the first submit.
  virtual void on_commit(std::function<void(const commit_notice&)> notice) = 0;
  /// Queues a batch (all or nothing) and returns its ticket, 1, 2, 3 … Thread safe. Batches that wait are committed
  /// together (at most about 1,000 rows a transaction). A full disk: ballast is given up and the batch tried once more;
  /// what then fails is told. An empty batch is a barrier: its notice comes after all earlier ones. Returns 0, and
  /// writes nothing, after `close`.
  virtual std::uint64_t submit(std::vector<entry> batch) = 0;
  /// With `ends_keep_order`: what is submitted from now on is submitted in the knowledge that this ticket was refused.
  virtual void refusal_known(std::uint64_t ticket) { (void)ticket; }
  /// True while free space is below the reserve (looked at with each commit and at least once a second while asked).
  /// Thread safe.
  virtual bool is_low() const = 0;
  /// Writes what is queued, stops the thread. Called by the destructor too.
  virtual void close() = 0;

  virtual const std::string& directory() const = 0;
};

} // namespace quell::storage
