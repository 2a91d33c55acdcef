// The state that a start finds on disk.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "controller/records/costs.hpp"
#include "controller/records/records.hpp"
#include "protocol/fault.hpp"

namespace quell::records {

/// `via_token_id`: that of its cancel, in whose row it is stored.
struct recovered_cutoff {
  cutoff_record record;
  std::string via_token_id;
  friend bool operator==(const recovered_cutoff&, const recovered_cutoff&) = default;
};

/// The rest of the live operations cannot be read.
struct unreadable : std::exception {
  explicit unreadable(fault f) : why(std::move(f)) {}
  const char* what() const noexcept override { return why.detail.c_str(); }
  fault why;
};

/// The next live operations, by seq; none: all were given. So a million of them need not be in memory at once, and are
/// taken in while others are still read. Called by one thread, before anything is written; throws `unreadable`.
using live_source = std::function<std::vector<operation_record>()>;

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
  live_source more_live{};                 ///< those behind them; empty: there are no more
  std::vector<cancel_record> open_cancels; ///< not settled, by seq
  std::vector<recovered_cutoff> cutoffs;
  std::vector<tombstone_record> tombstones;
  std::vector<worker_record> workers;
  std::vector<token_record> tokens;
  std::vector<cost_record> costs{}; ///< of the newest days, summed up by day, scope and author
  std::vector<turn_cost_record> turn_costs{};
};

} // namespace quell::records
