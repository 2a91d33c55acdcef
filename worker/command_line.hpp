// The options from quell-worker's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "worker/settings.hpp"

namespace quell::worker {

struct command_line {
  bool keygen = false;
  bool rotate_key = false;
  std::int64_t timeout_s = 30; ///< for rotate_key
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
  int exit_code = 0; ///< if `line` is not set: 0 after help and version, 2 after a usage error (already printed)
};

/// Overwrites the join line in the arguments, which every user of this machine can read in /proc. Call after parsing.
void hide_join_line(int argc, char** argv);

parsed_command_line parse_command_line(int argc, char** argv, const std::string& version);

} // namespace quell::worker
