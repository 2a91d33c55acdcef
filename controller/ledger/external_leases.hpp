// The leases of external operations: how long their owners may be silent, and which owners were notified of a stop.
//
// This type knows instants and lists; that a lease which is over ends its operation, and that a stop reaches the owner,
// is the ledger's decision, and so are the timers: an instant returned here must be looked at again when it comes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/ledger/operation_table.hpp"

namespace quell::controller::live {

/// Invariants, see `check`:
///  - exactly the external operations have an `external_state`;
///  - one with a session is once in the list of that session, and nothing else is in such a list;
///  - an operation whose owner was notified is external and live, is being stopped, and its own work is not over;
///  - a session counts the leases of its operations whose own work is not over, and names a scope above all of them;
///  - it knows those of its operations whose owner was notified.
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
  /// The owner of the session reported all its operations as alive: the whole lease again for each that has one. Takes
  /// the same time however many they are.
  void renew_session(index session, boot_time now) { states_[session].renewed = now; }
  /// When its lease is over. Only of an operation that has one.
  boot_time end_of(index x) const;
  /// Every lease begins anew: heartbeats can have come, unread, while this process was stalled.
  void was_stalled(boot_time now) { woke_ = now; }

  // ---- owners that were notified of a stop
  /// Its owner is told to stop it, and has this grace from now on. Only of an operation that is being stopped.
  void notify(index x, milliseconds grace, boot_time now);
  /// Its owner was notified in an earlier life; `give_grace` follows.
  void note_notified(index x);
  void give_grace(index x, milliseconds grace, boot_time now);
  /// Its own work is over: it has no lease any more, and its owner need not stop it.
  void work_is_over(index x);
  const std::map<std::uint64_t, index>& notified() const { return notified_; } ///< by seq

  // ---- sessions
  guarded in_session(const std::string& session) const;                                    ///< oldest first
  std::string session_of(index x) const;                                                   ///< "" = none
  index find_session(const std::string& session) const { return sessions_.find(session); } ///< `none`: it has nothing
  std::uint32_t members(index session) const { return sessions_.holders(session); }
  /// Those of the session whose owner was notified, by seq.
  const std::map<std::uint64_t, index>& notified_in(index session) const { return states_[session].notified; }
  /// The shortest lease in the session; nullopt = nothing has one.
  std::optional<milliseconds> shortest_lease(index session) const;
  /// A scope that all operations of the session are at or below, if there is one.
  const std::optional<scope_path>& scope_above(index session) const { return states_[session].scope; }
  /// The parent that all operations of the session have in common; `none` = they have different ones, or none.
  index parent_of_all(index session) const;

  /// Adds a sentence for each invariant that does not hold. Reads everything: for tests.
  void check(std::vector<std::string>& broken) const;

 private:
  struct session_state {
    index head = none;
    boot_time renewed{};                          ///< when all its operations were last reported as alive
    std::map<milliseconds, std::uint32_t> leases; ///< how many whose own work is not over have which lease
    std::map<std::uint64_t, index> notified;      ///< by seq
    // The next two only widen while the session has operations.
    std::optional<scope_path> scope; ///< at or above each; nullopt = there is none
    index parent = none;             ///< of each
    std::uint64_t parent_seq = 0;    ///< distinguishes it from a later user of its slot
  };

  void enter_session(index x, const std::string& name, const scope_path& scope);
  session_state* state_of(index x); ///< nullptr = it has no session
  void check_session(index session, std::uint64_t members, std::vector<std::string>& broken) const;

  operation_table& operations_;
  interner<std::string> sessions_;          ///< of runtimes that own external operations
  std::vector<session_state> states_;       ///< by interned session
  std::map<std::uint64_t, index> notified_; ///< by seq
  boot_time woke_{};                        ///< when this process was last found to have been stalled
};

} // namespace quell::controller::live
