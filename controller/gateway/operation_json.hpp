// The operation as SURFACE 2 shows it.
#pragma once

#include <optional>
#include <string>

#include "controller/gateway/json_writer.hpp"
#include "controller/orders.hpp"

namespace quell::controller::http {

/// A committed row, overlaid with what the ledger knows of it if it lives, and the words of the cancel that stops it.
struct shown_operation {
  storage::operation_record row; ///< `hot` already overlaid
  std::optional<waiting_for> waiting;
  std::optional<wall_time> unreachable_since, dead_by;
  std::optional<std::string> stop_reason; ///< of `row.hot.stop->cancel`
  std::optional<storage::person> stop_by;
  std::string block;                              ///< of a turn: what is shown of it, as JSON text
  std::optional<wall_time> lease_expires_at = {}; ///< of an external operation
};

/// Overlays `live` on `op`.
void overlay(shown_operation& op, const live_view& live);

/// Every field, always. `worker_lease` is shown for tasks that asked for none of their own.
void write_operation(json_writer& to, const shown_operation& op, milliseconds worker_lease);
/// The short form in a dry run's `would_stop`.
void write_operation_summary(json_writer& to, const shown_operation& op);

} // namespace quell::controller::http
