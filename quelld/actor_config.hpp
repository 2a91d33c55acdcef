// How CAF runs the actors of quelld.
#pragma once

#include <caf/actor_system_config.hpp>

namespace quell::controller {

struct actor_config : caf::actor_system_config {
  actor_config() {
    set("scheduler.policy", caf::atom("sharing")); // work stealing polls, which costs idle CPU
    set("scheduler.max-threads", 2u);
  }
};

} // namespace quell::controller
