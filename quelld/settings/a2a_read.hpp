// Reads a remote agent ([[a2a]]). For the .cpp files of this folder.
#pragma once

#include "actors/turns/settings.hpp"
#include "quelld/settings/toml_table.hpp"

namespace quell::controller::turns {

/// Adds it to the servers, as `a2a:NAME`.
void read_remote_agent(toml_table& t, turn_settings& s);

} // namespace quell::controller::turns
