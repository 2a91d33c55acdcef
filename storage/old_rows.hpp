// Finds old, finished rows in slices. It returns facts only; the controller decides which rows to drop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/records/records.hpp"
#include "protocol/fault.hpp"
#include "storage/record_names.hpp"

namespace quell::storage {

struct old_operation {
  std::uint64_t seq = 0;
  operation_id id;
  quell::kind kind = quell::kind::task;
  std::optional<operation_id> parent;
  std::optional<wall_time> ended_at;      ///< nullopt: live
  std::optional<wall_time> root_ended_at; ///< nullopt: its tree is live
  std::optional<cancel_id> stopped_by;
  std::uint64_t children = 0; ///< rows that name it as their parent
};

/// Has its own read-only connection; used by one thread at a time. Each call reads for a few milliseconds at most.
class old_rows {
 public:
  static result<std::unique_ptr<old_rows>> open(const std::string& directory);
  virtual ~old_rows() = default;

  /// The approximate seq below which everything made before `before` lies; as exact as the clocks.
  virtual result<std::uint64_t> first_made_at(wall_time before) = 0;
  /// The next rows below this seq, newest first: children come before their parents.
  virtual result<std::vector<old_operation>> operations(std::uint64_t below_seq, std::uint32_t limit) = 0;
  /// Settled cancels above this seq, oldest first.
  virtual result<std::vector<cancel_record>> settled_cancels(std::uint64_t above_seq, std::uint32_t limit) = 0;
  /// The cancels named by cutoffs and tombstones.
  virtual result<std::vector<cancel_id>> named_cancels() = 0;
  struct event_range {
    std::uint64_t oldest = 0;     ///< 0 = no events
    std::uint64_t last_older = 0; ///< the newest event from before the instant; 0 = none
  };
  virtual result<event_range> events_before(wall_time before) = 0;
};

} // namespace quell::storage
