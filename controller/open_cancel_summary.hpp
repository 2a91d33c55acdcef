// The open cancels, as a status counts them.
#pragma once

#include <cstddef>
#include <optional>

#include "protocol/time.hpp"

namespace quell::controller {

struct open_cancel_summary {
  std::size_t count = 0;
  std::optional<wall_time> oldest; ///< when that with the lowest seq was accepted
};

} // namespace quell::controller
