// The leases of external operations: how long their owners may be silent, and which owners were notified of a stop.
//
// This type knows instants and lists; that a lease which is over ends its operation, and that a stop reaches the owner,
// is the ledger's decision, and so are the timers: an instant returned here must be looked at again when it comes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/ledger/operation_table.hpp"

namespace quell::controller::live {

/// Invariants, see `check`:
///  - exactly the external operations have an `external_state`;
///  - one with a session is once in the list of that session's group of its scope, and nothing else is in such a list;
///  - a group is not empty, and counts the leases of those whose own work is not over;
///  - an operation whose owner was notified is external and live, is being stopped, and its own work is not over; its
///    group knows it, too.
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
  /// When its lease is over, which the heartbeats of its session move, too. Only of an operation that has one.
  boot_time end_of(index x) const;
  /// Every lease begins anew: heartbeats can have come, unread, while this process was stalled.
  void was_stalled(boot_time now) { woke_ = now; }

  // ---- owners that were notified of a stop
  /// Its owner is told to stop it, and has this grace from now on. Only of an operation that is being stopped.
  void notify(index x, milliseconds grace, boot_time now);
  /// Its owner was notified in an earlier life; `give_grace` follows.
  void note_notified(index x);
  void give_grace(index x, milliseconds grace, boot_time now);
  /// Its own work is over: it has no lease any more, and its owner no grace.
  void own_work_over(index x);
  const std::map<std::uint64_t, index>& notified() const { return notified_; } ///< by seq

  // ---- sessions, as far as the caller sees their scopes
  using sees_scope = std::function<bool(index scope)>;
  guarded in_session(const std::string& session, const sees_scope& sees) const; ///< oldest first
  /// Those whose owners were notified, oldest first.
  guarded notified_in(const std::string& session, const sees_scope& sees) const;
  struct renewal {
    std::uint64_t operations = 0;         ///< live ones
    std::optional<milliseconds> shortest; ///< of their leases; nullopt: none has one
  };
  /// The owner of these operations has been heard: the whole lease again for each. It costs one step for each scope of
  /// the session, not for each operation.
  renewal renew_session(const std::string& session, const sees_scope& sees, boot_time now);
  std::string session_of(index x) const; ///< "" = none

  /// Adds a sentence for each invariant that does not hold. Reads everything: for tests.
  void check(std::vector<std::string>& broken) const;

 private:
  using groups_of_session = std::map<index, index>; ///< by scope
  using sessions = std::map<std::string, groups_of_session>;
  /// The operations of one session in one scope: whoever sees one of them by its scope sees all.
  struct group {
    sessions::iterator session{};
    index scope = none;
    index head = none;
    std::uint64_t members = 0;
    std::map<milliseconds, std::uint64_t> lengths; ///< of the leases of those whose own work is not over
    std::map<std::uint64_t, index> notified;       ///< by seq
    boot_time renewed_at{};                        ///< when the lease of each of them last began anew
  };

  void join(index x, const std::string& session);
  void check_groups(std::vector<std::string>& broken) const;
  template <class Visit>
  void each_group(const std::string& session, const sees_scope& sees, const Visit& visit) const;

  operation_table& operations_;
  sessions sessions_; ///< of runtimes that own external operations; no empty ones
  slab<group> groups_;
  std::map<std::uint64_t, index> notified_; ///< by seq
  boot_time woke_{};                        ///< when this process was last found to have been stalled
};

} // namespace quell::controller::live
