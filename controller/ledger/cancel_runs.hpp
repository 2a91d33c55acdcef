// The open cancels: where each is found, what each still covers, and what was counted of it.
//
// A cancel is entered at its target, so that the stop of an operation is found by walking up from it: at the operation,
// at the scope, or, for an owner and for everything, in one short list. A cancel that has settled is remembered for a
// while, so that a repeat of it can be answered.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "controller/ledger/cancel_run.hpp"
#include "controller/ledger/memory.hpp"
#include "controller/ledger/operation_table.hpp"

namespace quell::controller::live {

/// Invariants, see `check`:
///  - a run is kept by the seq of its record and found by the id of its record;
///  - it is entered exactly where its target says (the operation, as long as that lives; the scope; the broad ones),
///  and
///    nothing else is entered anywhere;
///  - `remaining` is the number of live operations that it covers;
///  - `remaining` and the receipts counted so far add up to the operations of its report;
///  - it is dirty if its row is written with the next effects, and only then;
///  - exactly the open ones with `has_progress` are listed as progressing;
///  - its scope has it as a holder, and its owner, too.
class cancel_runs {
 public:
  using by_seq = std::map<std::uint64_t, cancel_run>;

  cancel_runs(operation_table& operations, scope_tree& scopes) : operations_(operations), scopes_(scopes) {}
  cancel_runs(const cancel_runs&) = delete;
  cancel_runs& operator=(const cancel_runs&) = delete;

  // ---- looking: nullptr = not open
  cancel_run* find(std::uint64_t seq);
  const cancel_run* find(std::uint64_t seq) const;
  cancel_run* find(const cancel_id& id);
  const cancel_run* find(const cancel_id& id) const;
  /// Of a cancel that settled recently; nullptr = none.
  const records::cancel_record* settled(const cancel_id& id) const { return settled_.find(id); }
  /// Open or settled recently; nullptr = neither.
  const records::cancel_record* record_of(const cancel_id& id) const;
  bool empty() const { return runs_.empty(); }
  std::size_t size() const { return runs_.size(); }
  by_seq::iterator begin() { return runs_.begin(); }
  by_seq::iterator end() { return runs_.end(); }
  by_seq::const_iterator begin() const { return runs_.begin(); }
  by_seq::const_iterator end() const { return runs_.end(); }
  /// Calls `visit` with each open one of an owner or of everything that names this operation itself. It looks only at
  /// those of the operation's own owner and scopes, so that no number of others slows it.
  template <class Visit>
  void each_broad_of(index x, const Visit& visit) const {
    if (broad_.empty()) return;
    const operation_node& n = operations_[x];
    for (index scope = n.scope; scope != none; scope = scopes_[scope].parent)
      for (const index owner : {n.owner, none}) {
        const auto at = broad_.find({scope, owner});
        if (at == broad_.end()) continue;
        for (cancel_run* run : at->second)
          if (broad_matches(*run, x)) visit(*run);
      }
  }
  /// How many open ones name this scope, one above it, or, there, this owner or everything. Each end below them is
  /// counted in each.
  std::size_t open_over(const scope_path& scope, const std::string& owner) const;
  /// Whether any scope has an open cancel.
  bool has_scope_cancels() const { return scope_cancels_ > 0; }

  // ---- coverage (cancel_coverage.cpp); `next_seq` is the number that the next record gets
  bool covers(const cancel_run& run, index x) const;
  /// Whether a broad run names this operation itself.
  bool broad_matches(const cancel_run& run, index x) const;
  /// The open ones that cover an operation.
  void covering(index x, std::vector<cancel_run*>& out) const;
  std::vector<index> covered_list(const cancel_run& run) const; ///< live ones, oldest first
  /// The oldest of these, at most so many. Of one large scope it reads no more than that.
  std::vector<index> oldest_covered(const cancel_run& run, std::uint64_t next_seq, std::size_t most) const;
  std::uint64_t count_covered(const cancel_run& run, std::uint64_t next_seq) const;
  std::vector<index> workers_below(const cancel_run& run, std::uint64_t next_seq) const;

  // ---- the life of one
  /// A run that is not open yet; it holds its scope and its owner until it is opened and settled, or dropped.
  cancel_run draft(boot_time received, records::cancel_record r);
  void drop(const cancel_run& draft);
  /// The open cancel that a draft which covers so many operations joins; nullptr = none.
  cancel_run* joinable(const cancel_run& draft, std::uint64_t covered) const;
  /// Opens a draft, whose record has its seq now.
  cancel_run& open(cancel_run draft, std::uint64_t covered);
  /// Counts the end of an operation in every run that covers it, and returns these. It must still be in the table.
  std::vector<cancel_run*> count_end(index x, receipt how, proof evidence);
  /// Its row has become `settled` and is written: it is no longer open.
  void settle(cancel_run& run);
  void forget_settled(const cancel_id& id) { settled_.forget(id); }

  // ---- changes
  void touch(cancel_run& run); ///< its row is written with the next effects
  void note_change(const cancel_run& run) { changed_.insert(run.record.id); }
  /// The open ones whose counts changed since their last progress event, by seq.
  const std::set<std::uint64_t>& progressing() const { return progressing_; }
  /// Its progress event is written.
  void clear_progress(cancel_run& run, boot_time now);
  /// Adds the rows of the dirty runs, and replaces `changed` by the ids of all that changed.
  void take_changes(std::vector<records::entry>& journal, std::vector<cancel_id>& changed);

  /// Adds a sentence for each invariant that does not hold. Reads everything: for tests.
  void check(std::vector<std::string>& broken) const;

 private:
  bool is_full(const cancel_run& run, std::uint64_t next_seq) const;
  void add_of_scopes(const cancel_run& run, std::vector<index>& found) const;
  void enter(cancel_run& run);
  void leave(cancel_run& run);
  bool is_entered_once(const cancel_run& run) const;

  operation_table& operations_;
  scope_tree& scopes_;
  by_seq runs_;
  std::unordered_map<cancel_id, std::uint64_t> run_of_;
  /// By the scope to which they are limited and the owner (`none`: everybody); no empty lists.
  std::map<std::pair<index, index>, std::vector<cancel_run*>> broad_;
  std::set<std::uint64_t> progressing_; ///< whose counts changed since their last progress event
  std::size_t scope_cancels_ = 0;       ///< open ones of scopes
  mutable std::uint64_t visits_ = 0;    ///< searches for the runs that cover an operation
  std::set<std::uint64_t> dirty_;       ///< with those that have settled since
  std::set<cancel_id> changed_;
  bounded_memory<cancel_id, records::cancel_record, 10'000> settled_;
};

} // namespace quell::controller::live
