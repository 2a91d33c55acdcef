// The budgets of a day, for a model call without an operation, such as the words about a stop.
#pragma once

#include <optional>
#include <string>

#include "controller/ledger.hpp"

namespace quell::controller {

/// The budget of the day that has nothing left for this author in this scope, in words; nullopt: none. On the core's
/// thread.
std::optional<std::string> why_day_is_used_up(const ledger& of, const scope_path& scope, const std::string& author,
                                              moment now);

} // namespace quell::controller
