// The stop that covers an operation, and how its own work ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "controller/ledger.hpp"

namespace quell::controller::live {

/// An operation that ends later than this after the kill counts as unconfirmed.
inline constexpr std::chrono::seconds unproven_after{10};

/// The first stop that covers an operation.
struct found_stop {
  std::uint64_t seq = 0;
  stop_cause cause = stop_cause::cancel;
  std::optional<cancel_id> cancel;
  const stop_words* words = nullptr; ///< valid only during the call
};

/// How an operation's own work ended.
struct self_status {
  status as = status::completed;
  std::optional<receipt> how;
  std::optional<proof> evidence;
  std::optional<exit_state> exit;
  std::optional<records::operation_error> error;
  std::optional<std::string> completed_data = std::nullopt; ///< of a turn: see own_outcome
  std::string abort_reason = "error";
};

enum class announce : bool { no, yes };

} // namespace quell::controller::live
