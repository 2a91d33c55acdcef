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
  std::string listen;                  ///< HOST:PORT; "" = no voice
  std::string brain = "builtin";       ///< or unix:PATH
  scope_path scope;                    ///< the scope of a client without a hello is <scope>/<session>
  std::string agent;                   ///< of the built-in brain; "" = the agent that serves the scope
  bool feedback = false;               ///< the built-in brain asks before it speaks
  std::uint32_t clients = 16;          ///< at the same time
  std::uint32_t clients_per_token = 8; ///< of these; those without a token count as one
  std::vector<std::string> hear, speak;
  std::map<std::string, std::string> on; ///< labels of the worker on which both run
  std::string text;                      ///< all of it as TOML

  bool is_on() const { return !listen.empty(); }
};

} // namespace quell::controller::voice
