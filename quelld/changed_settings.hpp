// The differences between two printed configurations, and which of them a running quelld can take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell::controller {

/// The places that differ, in order: `log.level`, `agents.coder.instructions`, `models.fast` (new or gone). Both texts
/// are TOML. Entries of a list of tables go by their name, or else by their number.
result<std::vector<std::string>> changed_settings(const std::string& before, const std::string& after);

/// Whether a reload can change this place; everything else takes effect at the next start.
bool can_be_reloaded(std::string_view place);

} // namespace quell::controller
