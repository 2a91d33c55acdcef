// Completion scripts, generated from the declared commands, so that they always match them. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace quell::cli {

/// The script for `bash`, `zsh` or `fish`; "" for another shell.
std::string completion_script(const std::string& shell, const std::vector<command_description>& commands);

} // namespace quell::cli
