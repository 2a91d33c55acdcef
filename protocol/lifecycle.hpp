// The legal moves of an operation's status: one table, checked at compile time, from which the diagram in
// docs/CANCELLATION.md is printed.
#pragma once

#include <array>
#include <string_view>

#include "protocol/vocabulary.hpp"

namespace quell {

/// One legal move and the event that causes it.
struct lifecycle_move {
  status from;
  status to;
  std::string_view when;
};

inline constexpr auto lifecycle_table = std::to_array<lifecycle_move>({
    {status::pending, status::running, "it started"},
    {status::pending, status::cancelling, "told to stop while a start may be on its way"},
    {status::pending, status::cancelled, "told to stop and never sent"},
    {status::pending, status::failed, "it could not be started, or its worker was lost"},
    {status::running, status::paused, "it waits for a human"},
    {status::running, status::cancelling, "told to stop"},
    {status::running, status::completed, "its own work ended well and its children are terminal"},
    {status::running, status::failed, "its own work failed, or was interrupted by a restart"},
    {status::paused, status::running, "a human decided"},
    {status::paused, status::cancelling, "told to stop"},
    {status::cancelling, status::cancelled, "proven gone, or settled as unconfirmed or declared"},
    {status::cancelling, status::completed, "it had finished before its worker applied the stop"},
    {status::cancelling, status::failed,
     "it had failed before its worker applied the stop; or the cause was timeout, worker_lost or budget"},
});

constexpr bool may_move(status from, status to) {
  for (const auto& move : lifecycle_table)
    if (move.from == from && move.to == to) return true;
  return false;
}

namespace lifecycle_checks {
constexpr bool terminal_has_no_exit() {
  for (const auto& move : lifecycle_table)
    if (is_terminal(move.from)) return false;
  return true;
}
constexpr bool no_row_twice() {
  for (std::size_t i = 0; i < lifecycle_table.size(); ++i)
    for (std::size_t j = i + 1; j < lifecycle_table.size(); ++j)
      if (lifecycle_table[i].from == lifecycle_table[j].from && lifecycle_table[i].to == lifecycle_table[j].to)
        return false;
  return true;
}
constexpr bool every_live_status_can_be_stopped() {
  return may_move(status::pending, status::cancelling) && may_move(status::running, status::cancelling) &&
         may_move(status::paused, status::cancelling);
}
static_assert(terminal_has_no_exit());
static_assert(no_row_twice());
static_assert(every_live_status_can_be_stopped());
} // namespace lifecycle_checks

} // namespace quell
