// The task in the body of a create.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/orders.hpp"
#include "gateway/body.hpp"

namespace quell::controller::http {

/// The longest lease that a task or an external operation can request: a week.
inline constexpr std::uint64_t max_lease_ms = 7ULL * 24 * 3600 * 1000;

/// Reads the task in `object`, which is at `/task` of the body. Adds each error to `errors`, one entry per field.
task_spec read_task(const nlohmann::json& object, std::vector<field_error>& errors);

} // namespace quell::controller::http
