// Reading and writing the sections of the configuration file that turns are configured with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "actors/turns/settings.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::turns {

/// The sections of the configuration file that are read here: models, agents, tools, approval, mcp, chat.
const std::vector<std::string>& turn_sections();

/// Reads `file` ("" = none), with a scripted model and an agent `default` if it names none, and keys from `environment`
/// and the files that it names. Ignores other sections. Fault `invalid_field`: the file, the place, the error, and what
/// to do; it never contains a key.
result<turn_settings> read_turn_settings(const std::string& file,
                                         const std::map<std::string, std::string>& environment);
/// Whether an agent or the acknowledgements ask this model: first, if a message names it, or when another one cannot
/// answer.
bool is_used(const turn_settings& settings, const std::string& model);
/// TOML from which `read_turn_settings` reads the same settings, without the keys and without the
/// values of headers.
std::string turn_settings_text(const turn_settings& settings);

} // namespace quell::controller::turns
