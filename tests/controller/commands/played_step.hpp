// The input of a core, recorded so that it can be played again.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "tests/controller/commands/commands_world.hpp"

namespace quell::controller::core_tests {

/// One event of the core's life, as a value: enough to play it again.
struct played_step {
  enum class event : std::uint8_t { command, burst, committed, refused, tick } what = event::command;
  std::optional<command> given = {};
  std::uint64_t ticket = 0;
  moment at{};
  bool storage_low = false;
};

/// Applies one recorded step to another core in the same state.
inline void play_again(commands_world& w, const played_step& step) {
  w.now = step.at;
  w.edges.low = step.storage_low;
  switch (step.what) {
  case played_step::event::command:
    return std::visit(
        [&](const auto& one) {
          w.c->execute({one, {}}, w.now);
        },
        static_cast<const command_variant&>(*step.given));
  case played_step::event::burst:
    return void(w.c->end_burst(w.now));
  case played_step::event::committed:
    return w.c->committed({step.ticket, {}}, w.now);
  case played_step::event::refused:
    return w.refuse(step.ticket);
  case played_step::event::tick:
    return void(w.c->tick(w.now));
  }
}

} // namespace quell::controller::core_tests
