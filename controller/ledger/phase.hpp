// How far an operation's own work has come: one phase at any time, and one table of the legal moves between them. The
// status that people read follows from it, from the stops that cover the operation, and from what lives below it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace quell::controller::live {

enum class phase : std::uint8_t {
  behind_older, ///< it supersedes an operation that is still alive
  ready,        ///< it can be placed on a worker, or begun by its actor or owner
  in_doubt,     ///< from a restored backup: a worker can have begun it since (restored.cpp)
  sent,         ///< assigned to a worker that has not reported its start
  begun,
  never_begun, ///< its own work is over, without having begun
  over,        ///< its own work is over
};

constexpr std::string_view name_of(phase p) {
  constexpr std::array<std::string_view, 7> names{"behind_older", "ready",       "in_doubt", "sent",
                                                  "begun",        "never_begun", "over"};
  return names[static_cast<std::size_t>(p)];
}

struct phase_move {
  phase from;
  phase to;
  std::string_view when;
};

inline constexpr auto phase_table = std::to_array<phase_move>({
    {phase::ready, phase::behind_older, "it supersedes an operation that is alive"},
    {phase::behind_older, phase::ready, "that operation has ended"},
    {phase::ready, phase::in_doubt, "it comes from a restored backup"},
    {phase::ready, phase::sent, "a worker got it"},
    {phase::in_doubt, phase::sent, "a worker named it as its own"},
    {phase::sent, phase::ready, "its start never reached the worker"},
    {phase::ready, phase::begun, "its actor or owner began it"},
    {phase::sent, phase::begun, "its worker reports the start"},
    {phase::in_doubt, phase::begun, "the worker that had it reports the start"},
    {phase::behind_older, phase::never_begun, "stopped while it waited"},
    {phase::ready, phase::never_begun, "stopped, or refused by its actor or owner, before it began"},
    {phase::in_doubt, phase::never_begun, "no worker named it, or it was stopped"},
    {phase::sent, phase::never_begun, "its worker reports that it never ran, or was lost"},
    {phase::begun, phase::over, "its own work ended"},
});

constexpr bool is_over(phase p) { return p == phase::never_begun || p == phase::over; }
constexpr bool has_begun(phase p) { return p == phase::begun || p == phase::over; }
/// The phase in which this one ends.
constexpr phase end_of(phase p) { return has_begun(p) ? phase::over : phase::never_begun; }

constexpr bool may_move(phase from, phase to) {
  for (const auto& move : phase_table)
    if (move.from == from && move.to == to) return true;
  return false;
}

namespace phase_checks {
constexpr bool over_has_no_exit() {
  for (const auto& move : phase_table)
    if (is_over(move.from)) return false;
  return true;
}
constexpr bool everything_can_end() {
  for (std::size_t p = 0; p <= static_cast<std::size_t>(phase::begun); ++p)
    if (!may_move(static_cast<phase>(p), end_of(static_cast<phase>(p)))) return false;
  return true;
}
static_assert(over_has_no_exit());
static_assert(everything_can_end());
} // namespace phase_checks

} // namespace quell::controller::live
