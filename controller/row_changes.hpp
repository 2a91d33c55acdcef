// Counts how often committed rows of operations were changed, so that a thread that keeps a row knows whether it is
// still the one on disk, without reading it again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "protocol/id.hpp"

namespace quell::controller {

/// Operations share counts, so a kept row can be taken for changed when it is not, never the other way round: the
/// writer counts after its commit and before anybody hears of that commit. Lock-free; any thread.
///
/// To keep a row: ask `of` before the row is read, and keep its count with the row. While `of` gives the same count, no
/// commit that changed the row has been announced.
class row_changes {
 public:
  std::uint64_t of(const operation_id& id) const { return counts_[place_of(id)].load(std::memory_order_acquire); }
  /// The row was changed or dropped.
  void note(const operation_id& id) { counts_[place_of(id)].fetch_add(1, std::memory_order_acq_rel); }

 private:
  static constexpr std::size_t places = 8192; ///< 64 KiB
  static std::size_t place_of(const operation_id& id) { return std::hash<operation_id>{}(id) % places; }
  std::array<std::atomic<std::uint64_t>, places> counts_{};
};

} // namespace quell::controller
