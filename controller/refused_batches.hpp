// Batches of cancels and ends that a full disk refused, kept correct for a retry while newer batches overtake them.
//
// Batches after a refused one can be written before it is retried. Rows are written whole, so a newer row of the same
// thing invalidates the kept one; writing that one later would revert the record. The effects that wait for the write
// (acknowledged results, closed output) are kept with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/local_operations.hpp"
#include "controller/records/entries.hpp"

namespace quell::controller {

/// Identifies a row's subject: for two rows with equal keys the newer replaces the older. "" = the row is never
/// replaced.
std::string row_key(const records::entry& row);
std::vector<std::string> row_keys(const std::vector<records::entry>& rows);

/// Whether these rows end the operation, or its own work.
bool holds_end_of(const std::vector<records::entry>& rows, const operation_id& id);
/// The newest of these rows that says how the operation stands; nullptr = none of them does.
const records::operation_hot* newest_row(const std::vector<records::entry>& rows, const operation_id& id);

/// The limit of numbers that these rows reserve.
std::optional<std::uint64_t> reservation(const std::vector<records::entry>& rows);

class refused_batches {
 public:
  struct turn {
    std::vector<records::entry> rows;
    std::vector<std::pair<std::string, operation_id>> stored; ///< (worker, result) to acknowledge with it
    std::vector<ended_operation> ended;
  };

  bool empty() const { return turns_.empty(); }
  void add(turn refused) { turns_.push_back(std::move(refused)); }
  /// Newer rows with these keys were handed to the journal, or wait for a retry themselves.
  void overtaken_by(const std::vector<std::string>& keys);
  /// If the end of this operation is kept here, its result is acknowledged with that end and not before. False: the end
  /// is not here.
  bool take_result(const std::string& worker, const operation_id& id);
  /// Whether a row with this key (`row_key`) is kept here.
  bool holds(const std::string& key) const;
  /// How the operation stands by what is kept here; nullptr = nothing of it is.
  const records::operation_hot* find(const operation_id& id) const;
  /// Everything, to be tried again now as one turn: since newer rows made older ones void, single turns are no longer
  /// whole, and an event or a settled cancel could be on disk before the end that it speaks of.
  turn take();

 private:
  std::vector<turn> turns_;
};

} // namespace quell::controller
