// Callers by their token, for connections that are not HTTP.
#pragma once

#include <string>

#include "controller/orders.hpp"
#include "protocol/fault.hpp"

namespace quell::controller {

/// The caller of this secret: the bootstrap token, or a stored one whose role may converse. Reads the state directory.
/// Fault `unauthorized`.
result<caller> conversing_caller(const std::string& secret, const std::string& state_directory);

} // namespace quell::controller
