// Enrols a worker by its public key.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct enrol_worker {
  using answer = result<worker_view>;
  static constexpr std::string_view name = "enrol_worker";

  std::string worker;
  std::string public_key;
  std::map<std::string, std::string> labels;
};

enrol_worker::answer apply(const enrol_worker& command, const context& with);
std::string describe(const enrol_worker& command);

} // namespace quell::controller::commands
