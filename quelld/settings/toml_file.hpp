// Parses a TOML file into a table and describes errors in it. For .cpp files that read TOML.
#pragma once

#include <string>

#include "protocol/fault.hpp"
#include "protocol/toml.hpp"

namespace quell::controller {

/// Fault `invalid_field`: names the file, the error, and its position.
result<toml::table> parse_toml_file(const std::string& file);

} // namespace quell::controller
