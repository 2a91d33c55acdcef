// The leases of external operations: how long their owners may be silent, and which owners were notified of a stop.
//
// This type knows instants and lists; that a lease which is over ends its operation, and that a stop reaches the owner,
// is the ledger's decision, and so are the timers: an instant returned here must be looked at again when it comes.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/ledger/operation_table.hpp"

namespace quell::controller::live {

/// Invariants, see `check`:
///  - exactly the external operations have an `external_state`;
///  - one with a session is once in the list of that session, and nothing else is in such a list;
///  - an operation whose owner was notified is external and live, is being stopped, and its own work is not over.
class external_leases {
 public:
  /// Operations with the seq that distinguishes each from a later user of its slot.
  using guarded = std::vector<std::pair<index, std::uint64_t>>;

  explicit external_leases(operation_table& operations) : operations_(operations) {}
  external_leases(const external_leases&) = delete;
  external_leases& operator=(const external_leases&) = delete;

  // ---- entering and leaving
  /// Makes the state of an operation that has just entered the table. Its lease has not begun.
  void enter(index x, const external_spec& spec, const records::operation_record& r);
  /// Before it leaves the table.
  void leave(index x);

  // ---- leases
  bool has_lease(index x) const { return operations_[x].external->lease.count() > 0; }
  /// Its lease ends then. Only of an operation that has one.
  void begin(index x, boot_time until) { operations_[x].external->lease_until = until; }
  /// Its owner has been heard: the whole lease again. False: it has none.
  bool renew(index x, boot_time now);
  /// When its lease is over. Only of an operation that has one.
  boot_time end_of(index x) const;
  /// Every lease begins anew: heartbeats can have come, unread, while this process was stalled.
  void was_stalled(boot_time now) { woke_ = now; }

  // ---- owners that were notified of a stop
  /// Its owner is told to stop it, and has this grace from now on. Only of an operation that is being stopped.
  void notify(index x, milliseconds grace, boot_time now);
  /// Its owner was notified in an earlier life; `give_grace` follows.
  void note_notified(index x) { notified_.emplace(operations_[x].seq, x); }
  void give_grace(index x, milliseconds grace, boot_time now);
  /// Its own work is over.
  void forget_notified(index x) { notified_.erase(operations_[x].seq); }
  const std::map<std::uint64_t, index>& notified() const { return notified_; } ///< by seq

  // ---- sessions
  guarded in_session(const std::string& session) const; ///< oldest first
  std::string session_of(index x) const;                ///< "" = none

  /// Adds a sentence for each invariant that does not hold. Reads everything: for tests.
  void check(std::vector<std::string>& broken) const;

 private:
  operation_table& operations_;
  interner<std::string> sessions_;          ///< of runtimes that own external operations
  std::vector<index> session_heads_;        ///< by interned session
  std::map<std::uint64_t, index> notified_; ///< by seq
  boot_time woke_{};                        ///< when this process was last found to have been stalled
};

} // namespace quell::controller::live
