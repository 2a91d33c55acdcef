// Variables of the environment that say something to quelld.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/config.hpp"

namespace quell::controller {

/// The variable of a key: `QUELLD_HTTP_LISTEN`.
std::string variable_of(const config_key& key);

/// Fault `invalid_field` for a variable `QUELLD_…` that no key reads: a misspelt one would be passed by in silence.
/// `named`: texts of the configuration file, which may call a variable of a secret whatever it likes.
result<void> check_variables(const std::map<std::string, std::string>& environment, const std::set<std::string>& named);

} // namespace quell::controller
