// The join lines that `quell up` keeps for its workers (0600), so that a second `up` uses the same workers again.
#pragma once

#include <optional>
#include <string>

#include "cli/api.hpp"

namespace quell::cli {

/// Where the workers of this cluster find the controller, if `up` chose the ports; "" = what the join line says.
struct control_ports {
  std::string control, bulk; ///< tcp://127.0.0.1:PORT
};

/// Enrols `name` if need be and leaves its join line in `directory`/NAME.join. False: the name is enrolled by somebody
/// else's hand.
answer<bool> enrol(api& controller, const nlohmann::json& known_workers, const std::string& name,
                   const std::string& directory, const control_ports& ports);

} // namespace quell::cli
