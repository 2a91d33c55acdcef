// A TOML file as a table, with words for what is wrong in it. For .cpp files that read TOML.
#pragma once

#include <string>

#include "protocol/fault.hpp"
#include "protocol/toml.hpp"

namespace quell::controller {

/// Fault `invalid_field`: file, what is wrong, and where.
result<toml::table> parse_toml_file(const std::string& file);

} // namespace quell::controller
