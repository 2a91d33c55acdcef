// The section [voice] of the configuration file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::voice {

struct voice_settings {
  std::string listen;            ///< HOST:PORT; "" = there is no voice
  std::string brain = "builtin"; ///< or unix:PATH
  scope_path scope;              ///< a client without a hello talks in <scope>/<session>
  std::string agent;             ///< of the built-in brain; "" = the one that serves the scope
  bool feedback = false;         ///< the built-in brain asks before it speaks
  std::uint32_t clients = 16;    ///< at once
  std::vector<std::string> hear, speak;
  std::map<std::string, std::string> on; ///< labels of the worker on which both run
  std::string text;                      ///< all of it as TOML

  bool is_on() const { return !listen.empty(); }
};

/// What `file` ("" = none) says of it. Fault `invalid_field`: file, line and what is wrong.
result<voice_settings> read_voice_settings(const std::string& file);

} // namespace quell::controller::voice
