// Environment variables that configure quelld.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quelld/config.hpp"

namespace quell::controller {

/// The variable of a key: `QUELLD_HTTP_LISTEN`.
std::string variable_of(const config_key& key);

/// Fault `invalid_field` for a variable `QUELLD_…` that no key reads: otherwise a misspelt one would be ignored
/// silently. `named`: texts of the configuration file, since the file may give any name to a variable that holds a
/// secret.
result<void> check_variables(const std::map<std::string, std::string>& environment, const std::set<std::string>& named);

} // namespace quell::controller
