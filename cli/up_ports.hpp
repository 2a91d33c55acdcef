// On which ports the workers of `quell up` reach its quelld: free ones, unless the configuration says where.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/join_file.hpp"

namespace quell::cli {

struct up_ports {
  control_ports ports;            ///< that were chosen; "" = configured
  std::vector<std::string> flags; ///< of quelld
};

/// The ports that this state directory had before where they are still free, so that lines of `quell worker add` stay
/// good; they are remembered in `directory`/ports. A socket of which the file `config` or the environment
/// (QUELLD_WORKERS_LISTEN, QUELLD_WORKERS_OUTPUT_LISTEN) speaks is left to quelld.
up_ports choose_ports(const std::string& directory, const std::optional<std::string>& config,
                      const std::function<std::optional<std::string>(const char*)>& env);

} // namespace quell::cli
