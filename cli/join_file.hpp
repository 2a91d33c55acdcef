// The join lines that `quell up` keeps for its workers (0600), so that a second `up` uses the same workers again.
#pragma once

#include <optional>
#include <string>

#include "cli/api.hpp"

namespace quell::cli {

/// The controller's addresses for the workers of this cluster, if `up` chose the ports; "" = as in the join line.
struct control_ports {
  std::string control, bulk; ///< tcp://127.0.0.1:PORT
};

/// Enrols `name` if necessary and writes its join line to `directory`/NAME.join. False: another program enrolled the
/// name.
answer<bool> enrol(api& controller, const nlohmann::json& known_workers, const std::string& name,
                   const std::string& directory, const control_ports& ports);

} // namespace quell::cli
