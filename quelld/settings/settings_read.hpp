// Reads the sections of the configuration file and checks each entry on its own.
#pragma once

#include <string>

#include "actors/turns/settings.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::turns {

/// 1 to 64 of `A-Z a-z 0-9 _ -`.
bool is_configured_name(const std::string& name);

/// Reads the file without keys, without defaults for missing entries, and without checking how entries fit together.
/// Fault `invalid_field` with file and line.
result<turn_settings> read_settings_file(const std::string& file);

/// Checks references between entries (an unknown model, a duplicate name, an unknown tool). The fault does not contain
/// the file's name.
std::optional<fault> settings_that_do_not_fit(const turn_settings& settings);

} // namespace quell::controller::turns
