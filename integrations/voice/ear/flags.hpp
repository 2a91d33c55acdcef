// The flags of quell-ear and quell-mouth.
#pragma once

#include <map>
#include <set>
#include <string>

#include "protocol/fault.hpp"

namespace quell::ear {

using flag_values = std::map<std::string, std::string>;

/// Whether --help or -h is among the arguments.
bool wants_help(int argc, char** argv);

/// `--name value` pairs. Fault `usage`: an unknown flag, or one without a value.
result<flag_values> read_flags(int argc, char** argv, const std::set<std::string>& known);

/// The first line of --key-file; "" without that flag. Fault `usage`.
result<std::string> key_of(const flag_values& flags);

} // namespace quell::ear
