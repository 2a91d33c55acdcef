// The sections of the configuration file, as they stand: what is judged by one entry alone is judged here.
#pragma once

#include <string>

#include "controller/turns/settings.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::turns {

/// 1 to 64 of `A-Z a-z 0-9 _ -`.
bool is_configured_name(const std::string& name);

/// What the file says, without keys, defaults for what it does not name, or a look at how its entries fit together.
/// Fault `invalid_field` with file and line.
result<turn_settings> read_settings_file(const std::string& file);

/// What entries say of each other (a model that no entry has, a name twice, an unknown tool). Without the file's name.
std::optional<fault> settings_that_do_not_fit(const turn_settings& settings);

} // namespace quell::controller::turns
