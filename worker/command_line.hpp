// What was asked on the command line of quell-worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "worker/settings.hpp"

namespace quell::worker {

struct command_line {
  bool keygen = false;
  bool rotate_key = false;
  std::int64_t patience_s = 30; ///< of rotate_key
  bool probe = false;
  bool print_config = false;
  settings_layer flags;
  std::string config;
  std::string join_file;
  std::string state;
  std::string guardian;
  std::string log_level = "info", log_format = "text";
};

struct parsed_command_line {
  std::optional<command_line> line;
  int exit_code = 0; ///< when `line` is not set: help and version 0, a usage error 2 (it has been printed)
};

/// Overwrites the join line in the arguments, which everybody on this machine can read in /proc. After they are parsed.
void hide_join_line(int argc, char** argv);

parsed_command_line parse_command_line(int argc, char** argv, const std::string& version);

} // namespace quell::worker
