// The table of live operations: the nodes, their index by id, and every list and count that contains them.
//
// A node is in several lists at once: the children of its parent, the operations of its scope (the stopped ones apart),
// the operations that its worker holds, those of its owner, and those that share its supersede key. This type alone
// changes these links and the counts that follow from them; the fields that carry them can be read in any node
// (`owned`). It decides nothing: which moves are legal and what a removal causes is for the ledger.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/ledger.hpp"
#include "controller/ledger/guild_shares.hpp"
#include "controller/ledger/id_index.hpp"
#include "controller/ledger/interner.hpp"
#include "controller/ledger/operation.hpp"
#include "controller/ledger/quotas.hpp"
#include "controller/ledger/scope_tree.hpp"

namespace quell::controller::live {

/// Capacity that a worker got back.
struct freed_slots {
  index worker = none;
  std::uint32_t slots = 0;
};

/// Invariants, see `check`:
///  - an id names at most one node, and the index finds it;
///  - a node is once in the list of its parent's children, and `children` is the length of that list;
///  - `live_below` is 1 and the sum of it over the children that are not detached;
///  - a node is once in one list of its scope, `stopped` if it is stopped, else `plain`; the counts of a scope are
///  those
///    of the nodes in and below it;
///  - exactly the held nodes are in the list of their worker, whose counts are theirs; so are the counts of workers in
///  a
///    scope, and those below an operation through edges that are not detached;
///  - a node is once in the list of its owner;
///  - the operations with a supersede key are listed under it once each, oldest first;
///  - the exchanges are listed once each, oldest first;
///  - the counts by kind and status, by owner and by token are those of the nodes.
class operation_table {
 public:
  using waiting_reason = std::pair<std::string, std::string>; ///< the thing that it waits for, and a sentence
  using supersede_key = std::pair<index, std::string>;        ///< scope and key

  /// `least`: the containment for tasks that name none. `shares`: the limits of slots of guilds.
  operation_table(scope_tree& scopes, std::optional<containment> least, guild_shares shares = {0, {}})
      : scopes_(scopes), least_(least), shares_(std::move(shares)) {}
  operation_table(const operation_table&) = delete;
  operation_table& operator=(const operation_table&) = delete;

  // ---- looking
  index find(const operation_id& id) const;
  operation_node& operator[](index x) { return nodes_[x]; }
  const operation_node& operator[](index x) const { return nodes_[x]; }
  bool is_same(index x, std::uint64_t seq) const { return nodes_[x].seq == seq; }
  std::size_t size() const { return nodes_.size(); }
  index end_index() const { return nodes_.end_index(); }
  /// Along edges that are not detached; none = top.
  index parent_of(index x) const;
  /// Along all edges.
  bool is_below(index x, index ancestor) const;
  bool never_sent(index x) const;
  std::uint32_t slots_of(index x) const;
  const requirement& need_of(index x) const { return needs_[nodes_[x].need]; }
  const waiting_reason& reason_of(index x) const { return reasons_[nodes_[x].waiting]; }
  const std::string& token_of(index x) const { return tokens_[nodes_[x].token]; }
  std::uint64_t count(quell::kind what, status in) const {
    return by_kind_[static_cast<std::size_t>(what)][static_cast<std::size_t>(in)];
  }
  /// Live ones, oldest first. No more than the voice clients can have at a time.
  const std::vector<index>& exchanges() const { return exchanges_; }
  std::size_t started_with(const std::string& token) const;       ///< live ones
  std::size_t turns_started_with(const std::string& token) const; ///< of these, the turns
  /// Counts this author's live operations that were started with this token.
  author_share share_of(const std::string& token, const std::string& author) const;
  template <class Visit>
  void each_in_scope(index scope, const Visit& visit) const; ///< in and below it

  // ---- entering and leaving
  /// Adds it as a child of its parent, ready, and neither stopped nor held. Its parent must be in the table or unknown.
  index add(const records::operation_record& r);
  /// It must not be held, have no live operation below it, and have left its supersede key. Its detached children
  /// become its parent's.
  void remove(index x);

  // ---- changing one
  operation_details& details(index x);
  void set_status(index x, status to);
  void set_phase(index x, phase to);
  /// Moves it to the stopped ones of its scope; it must not be among them yet.
  void mark_stopped(index x);
  /// Replaces its earlier reason. False: it is the same one.
  bool wait_for(index x, const waiting_reason& reason);
  void wait_no_more(index x);

  // ---- workers
  void hold(index x, index worker);
  /// nullopt: it was not held. Its worker stays named and has it no longer: the caller ends its own work, names no
  /// worker or has another one hold it at once.
  std::optional<freed_slots> release(index x);
  /// Names a worker that does not hold it: `none`, or that of an operation whose own work is over.
  void name_worker(index x, index worker) { nodes_[x].worker = worker; }
  /// The workers that hold it or an operation below it, through edges that are not detached.
  std::vector<index> workers_of(index x) const;
  index first_held(index worker) const;           ///< the next one is in `worker_next`
  std::vector<index> held_by(index worker) const; ///< oldest first
  std::uint64_t live_on(index worker) const;
  std::uint32_t slots_on(index worker) const;
  /// False if its guild, or the token that takes a guild's place, has no room for it (`guild_shares::may_take`).
  bool may_take_slots(index x) { return shares_.is_off() || shares_.may_take(guild_of(x), x, slots_of(x)); }
  std::uint64_t guild_room() const { return shares_.room(); }
  /// It will not start any more: its guild's others do not wait for it.
  void starts_no_more(index x) {
    if (nodes_[x].need != none && !shares_.is_off()) shares_.give_way(guild_of(x), x);
  }
  /// Replaces the limits of single guilds.
  void limit_slots(slots_by_guild of_guilds);
  /// Grows when live tasks wait in other lines than before (`need_of`).
  std::uint64_t moves_of_lines() const { return moves_of_lines_; }

  // ---- supersede keys
  /// nullptr: no live operation has it.
  const std::vector<index>* with_key(index scope, const std::string& key) const;
  const std::map<supersede_key, std::vector<index>>& by_key() const { return superseding_; }
  /// Takes it out of the list of its key, if it has one. The operation that is then the oldest, or none.
  index leave_key(index x);

  // ---- owners, which cancels name, too
  index find_owner(const std::string& owner) const { return owners_.find(owner); }
  /// Calls `visit` with each live operation of this owner.
  template <class Visit>
  void each_of_owner(index owner, const Visit& visit) const {
    for (index x = owner < owner_heads_.size() ? owner_heads_[owner] : none; x != none; x = nodes_[x].owner_next)
      visit(x);
  }
  index hold_owner(const std::string& owner) { return owners_.hold(owner); }
  void release_owner(index owner) { owners_.release(owner); }
  const std::string& owner_name(index owner) const { return owners_[owner]; }

  /// Adds a sentence for each invariant that does not hold. Reads everything: for tests.
  void check(std::vector<std::string>& broken) const;

 private:
  struct worker_state {
    index head = none; ///< held operations
    std::uint64_t live = 0;
    std::uint32_t slots = 0;
  };
  std::uint64_t& count_at(const operation_node& n) {
    return by_kind_[static_cast<std::size_t>(n.kind)][static_cast<std::size_t>(static_cast<status>(n.now))];
  }
  operation_list& list_of(const operation_node& n) {
    return n.is_stopped() ? scopes_[n.scope].stopped : scopes_[n.scope].plain;
  }
  requirement requirement_of(const records::operation_record& r);
  index need_for(const records::operation_record& r, const operation_node& n);
  std::string guild_of(index x) const;
  void move_line(index x);
  void count_turn(const operation_node& n, std::int64_t change);
  void put_below(index x, index parent);
  void put_under_owner(index x);
  void take_from_owner(index x);
  void pass_on_children(index x);
  void put_in_list(index x);
  void take_from_list(index x);
  // operation_table_check.cpp
  std::string name_of_slot(index x) const;
  void check_index(std::vector<std::string>& broken) const;
  void check_children(index x, std::vector<std::string>& broken) const;
  void check_scopes(std::vector<std::string>& broken) const;
  void check_workers(std::vector<std::string>& broken) const;
  void check_keys(std::vector<std::string>& broken) const;
  void check_counts(std::vector<std::string>& broken) const;

  scope_tree& scopes_;
  std::optional<containment> least_;
  guild_shares shares_;
  std::uint64_t moves_of_lines_ = 0;
  slab<operation_node> nodes_;
  id_index by_id_;
  interner<std::string> owners_;
  std::vector<index> owner_heads_; ///< the newest operation of each interned owner
  author_counts authors_;          ///< by interned token and owner
  interner<std::string> tokens_;   ///< by id; the holders of one are its live operations
  token_turns turns_of_tokens_;    ///< by interned token
  interner<requirement> needs_;
  interner<waiting_reason> reasons_;
  std::vector<worker_state> worker_states_; ///< by the ledger's index of the worker
  std::array<std::array<std::uint64_t, count_of<status>()>, count_of<quell::kind>()> by_kind_{};
  std::map<supersede_key, std::vector<index>> superseding_; ///< oldest first
  std::vector<index> exchanges_;
  index last_task_ = none; ///< the one added last; perhaps gone, and its slot used again
};

template <class Visit>
void operation_table::each_in_scope(index scope, const Visit& visit) const {
  std::vector<index> inner{scope};
  while (!inner.empty()) {
    const scope_node& node = scopes_[inner.back()];
    inner.pop_back();
    for (const index head : {node.plain.head, node.stopped.head})
      for (index x = head; x != none; x = nodes_[x].scope_next) visit(x);
    for (index child = node.first_child; child != none; child = scopes_[child].next_sibling)
      if (scopes_[child].live > 0) inner.push_back(child);
  }
}

} // namespace quell::controller::live
