// The tree of scopes that hold live work, a cutoff or an open cancel; each node has the counts of everything in and
// below it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/ledger/operation.hpp"
#include "controller/ledger/slab.hpp"
#include "protocol/scope.hpp"
#include "protocol/time.hpp"

namespace quell::controller::live {

/// Live operations of exactly one scope, in the order in which they were added.
struct operation_list {
  of_table<index> head{none}, tail{none};
};

struct scope_node {
  scope_path path; ///< unused in the root
  index parent = none, first_child = none, next_sibling = none, previous_sibling = none;
  std::uint32_t generation = 0; ///< differs each time the slot is used
  std::uint32_t holders = 0;    ///< open cancels that name it
  std::uint64_t live = 0;       ///< in and below it
  std::uint64_t turns = 0;      ///< of these, the turns
  std::uint64_t stopping = 0;   ///< of these, with a materialised stop
  std::uint64_t deferred = 0;   ///< live operations of exactly this scope whose as_of is older than their seq
  std::uint64_t cutoff = 0;     ///< 0 = none
  cancel_id cutoff_cancel;
  boot_time cutoff_until{};  ///< the cutoff is kept at least until then; one expiry waits for it
  index cutoff_token = none; ///< interned by the ledger: the token whose share it takes
  operation_list plain, stopped;
  std::vector<cancel_run*> cancels; ///< open scope cancels of exactly this scope
  worker_counts workers;
};

class scope_tree {
 public:
  scope_tree();
  /// The root lies above every scope and serves only for counting.
  static constexpr index root = 0;
  index find(const std::string& text) const;
  index find_or_make(const scope_path& path);
  scope_node& operator[](index i) { return nodes_[i]; }
  const scope_node& operator[](index i) const { return nodes_[i]; }
  bool is_at_or_below(index scope, index other) const;
  void count_live(index scope, std::int64_t change);
  void count_turns(index scope, std::int64_t change);
  void count_stopping(index scope, std::int64_t change);
  void count_worker(index scope, index worker, std::int64_t change);
  /// Frees the scope, and those above it, as far as nothing holds them.
  void release_unused(index scope);
  const std::map<std::string, index, std::less<>>& by_text() const { return by_text_; }
  /// Those with live work in or below them: a reader of these pays nothing for scopes that keep only a cutoff.
  const std::map<std::string_view, index>& live_by_text() const { return live_by_text_; }

 private:
  slab<scope_node> nodes_;
  std::map<std::string, index, std::less<>> by_text_;
  std::map<std::string_view, index> live_by_text_; ///< the keys lie in `by_text_`
  std::uint32_t generations_ = 0;
  index last_ = none; ///< found last: mostly the next one, too
};

/// Adds `change` to the worker's count and removes entries of 0.
void count_worker(worker_counts& counts, index worker, std::int64_t change);

} // namespace quell::controller::live
