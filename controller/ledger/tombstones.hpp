// The tombstones: ids that were cancelled before an operation with that id existed, so that a later create is refused.
//
// A tombstone has a time on the wall clock and counts for the token that left it. The ledger's clock decides when one
// is looked at; this type decides whether it is over.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/records/records.hpp"

namespace quell::controller::live {

/// Invariants, see `check`:
///  - an id has at most one tombstone, which has that id;
///  - the count of a token is the number of the tombstones that it left, and a token without any has no count.
///
/// The quota refuses further ids to a token that has used it up. It does not bound the counts: a tombstone that a
/// second token renews counts for the second one, and rows of an earlier life can stand under a larger quota.
class tombstones {
 public:
  /// `most_of_token`: how many unknown ids one token may cancel.
  explicit tombstones(std::size_t most_of_token) : most_of_token_(most_of_token) {}

  /// nullptr: the id has none.
  const records::tombstone_record* find(const operation_id& id) const;
  std::size_t size() const { return by_id_.size(); }
  std::size_t left_by(const std::string& token) const;
  /// The token may leave no further tombstone.
  bool is_full(const std::string& token) const { return left_by(token) > 0 && left_by(token) >= most_of_token_; }
  /// Keeps it; it replaces the id's earlier one.
  void put(const records::tombstone_record& t);
  /// False: the id has none.
  bool drop(const operation_id& id);
  /// The rest of its time: 0 or less = it is over. nullopt: the id has none.
  std::optional<wall_time::duration> time_left(const operation_id& id, wall_time now) const;

  /// Adds a sentence for each invariant that does not hold. Reads everything: for tests.
  void check(std::vector<std::string>& broken) const;

 private:
  void uncount(const std::string& token);

  std::size_t most_of_token_;
  std::unordered_map<operation_id, records::tombstone_record> by_id_;
  std::map<std::string, std::size_t> left_by_;
};

} // namespace quell::controller::live
