// Overrides protocol/fresh_id.cpp: ids of product code come from the seed.
#include "protocol/id.hpp"
#include "tests/simulation/world.hpp"

namespace quell {

uuid_bytes fresh_uuid7() {
  auto* w = simulation::world::playing;
  return simulation::id_of<operation_id>(w->controller.now().wall, w->ids.next()).bytes;
}

} // namespace quell
