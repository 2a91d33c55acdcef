// Each kind of actor by the function that spawns it.
#include "actors/scheduler_actors.hpp"

#include <utility>

#include "actors/agent_actor.hpp"
#include "actors/executor_actor.hpp"
#include "actors/mcp_host_actor.hpp"
#include "actors/step_actor.hpp"
#include "actors/turns/turn_port.hpp"

namespace quell::actors {

void use_actors(caf::actor_system& system, const supervisor_actor& above,
                controller::turns::turn_scheduler_options& scheduler) {
  scheduler.executor = [&system](auto store) { return spawn_executor(system, std::move(store)); };
  scheduler.spawn = [above](agent_start start) {
    const auto& port = dynamic_cast<const controller::turns::turn_port&>(*start.port); // as start_agent makes them
    return spawn_agent(above, port.who().scope, std::move(start));
  };
  scheduler.loop = [&system] { return spawn_step_loop(system); };
  scheduler.mcp = [&system](controller::turns::mcp_parts parts) { return spawn_mcp_host(system, std::move(parts)); };
}

} // namespace quell::actors
