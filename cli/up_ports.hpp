// The ports on which the workers of `quell up` reach its quelld: free ones, unless they are configured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/join_file.hpp"

namespace quell::cli {

struct up_ports {
  control_ports ports;            ///< the chosen ports; "" = configured
  std::vector<std::string> flags; ///< flags for quelld
};

/// The ports that this state directory had before if they are still free, so that lines of `quell worker add` stay
/// valid; they are remembered in `directory`/ports. A socket that the file `config` or the environment
/// (QUELLD_WORKERS_LISTEN, QUELLD_WORKERS_OUTPUT_LISTEN) configures is left to quelld.
up_ports choose_ports(const std::string& directory, const std::optional<std::string>& config,
                      const std::function<std::optional<std::string>(const char*)>& env);

} // namespace quell::cli
