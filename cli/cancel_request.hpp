// The bodies of the cancels that `quell cancel` sends. Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace quell::cli {

/// One body per target: each of `ids`, or the single scope, owner or everything. `fresh_id` makes client-chosen cancel
/// ids, so that a repeat is safe.
std::vector<nlohmann::json> cancel_requests(const cancel_options& o, const std::vector<std::string>& ids,
                                            const std::function<std::string()>& fresh_id);

} // namespace quell::cli
