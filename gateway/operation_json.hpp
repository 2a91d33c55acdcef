// Writes an operation as in SURFACE 2.
#pragma once

#include <optional>
#include <string>

#include "controller/json/json_writer.hpp"
#include "controller/orders.hpp"

namespace quell::controller::http {

/// A committed row, overlaid with the ledger's view if the operation is live, and the reason of the cancel that stops
/// it.
struct shown_operation {
  records::operation_record row; ///< `hot` already overlaid
  std::optional<waiting_for> waiting;
  std::optional<wall_time> unreachable_since, dead_by;
  std::optional<std::string> stop_reason; ///< of `row.hot.stop->cancel`
  std::optional<records::person> stop_by;
  std::string kind_data;                          ///< for a turn: its block as clients see it, as JSON text
  std::optional<wall_time> lease_expires_at = {}; ///< for an external operation
};

/// Overlays `live` on `op`.
void overlay(shown_operation& op, const live_view& live);

/// Writes every field, always. `worker_lease` is written for tasks without a lease of their own.
void write_operation(json_writer& to, const shown_operation& op, milliseconds worker_lease);
/// The short form in a dry run's `would_stop`.
void write_operation_summary(json_writer& to, const shown_operation& op);

} // namespace quell::controller::http
