// Turns argv into options. Every error in a command line is found here, before the controller is looked up.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/options.hpp"

namespace quell::cli {

struct command_line {
  global_options globals;
  command_options command;
};

/// The reason why no command is executed: help was requested (code 0, text for stdout), or the line is wrong
/// (code 2; 125 for run and wait; text for stderr).
struct command_line_end {
  exit_code code = exit_code::done;
  std::string text;
  bool json = false; ///< --json was among the words
};

tl::expected<command_line, command_line_end> parse_command_line(std::vector<std::string> words);

/// One command or flag for completion and help: `path` is `worker add`; flags are long names with their dashes.
struct command_description {
  std::string path;
  std::string summary;
  std::vector<std::string> flags;
  bool takes_operation = false; ///< its arguments are operation ids
  bool takes_paused = false;    ///< its arguments are ids of calls that wait for a human
  bool takes_worker = false;    ///< its arguments are worker names
};
std::vector<command_description> command_descriptions();
/// The text of `quell help COMMAND`; "" if the command does not exist.
std::string help_text(const std::string& path);

} // namespace quell::cli
