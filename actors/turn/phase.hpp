// The phases of a turn and the legal moves between them: one table, checked at compile time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace quell::actors {

enum class turn_phase : std::uint8_t {
  asking,    ///< the model has been asked and has not answered yet
  streaming, ///< the model is answering
  calling,   ///< its calls run or wait for one another
  waiting,   ///< nothing runs; a human must decide
  done
};

inline constexpr std::array<std::string_view, 5> turn_phase_names{"asking", "streaming", "calling", "waiting", "done"};

struct turn_move {
  turn_phase from;
  turn_phase to;
  std::string_view when;
};

inline constexpr auto turn_table = std::to_array<turn_move>({
    {turn_phase::asking, turn_phase::streaming, "the model begins to answer"},
    {turn_phase::asking, turn_phase::calling, "its whole answer are calls"},
    {turn_phase::asking, turn_phase::done, "told to stop, or the model failed"},
    {turn_phase::streaming, turn_phase::calling, "its answer ends with calls"},
    {turn_phase::streaming, turn_phase::done, "its answer ends, or is cut"},
    {turn_phase::calling, turn_phase::waiting, "all that is left waits for a human"},
    {turn_phase::calling, turn_phase::asking, "every call has its result"},
    {turn_phase::calling, turn_phase::done, "told to stop, or the same call again and again"},
    {turn_phase::waiting, turn_phase::calling, "a human decided"},
    {turn_phase::waiting, turn_phase::done, "told to stop"},
});

constexpr bool may_move(turn_phase from, turn_phase to) {
  for (const auto& move : turn_table)
    if (move.from == from && move.to == to) return true;
  return false;
}

namespace turn_checks {
constexpr bool done_has_no_exit() {
  for (const auto& move : turn_table)
    if (move.from == turn_phase::done) return false;
  return true;
}
constexpr bool every_phase_can_be_stopped() {
  return may_move(turn_phase::asking, turn_phase::done) && may_move(turn_phase::streaming, turn_phase::done) &&
         may_move(turn_phase::calling, turn_phase::done) && may_move(turn_phase::waiting, turn_phase::done);
}
static_assert(done_has_no_exit());
static_assert(every_phase_can_be_stopped());
} // namespace turn_checks

} // namespace quell::actors
