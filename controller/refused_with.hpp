// A refusal of an order in one line.
#pragma once

#include <string>
#include <utility>

#include "controller/orders.hpp"

namespace quell::controller {

/// `pointer`: which field of the order is meant, as a JSON pointer; "" = none.
inline tl::unexpected<refusal> refused_with(error_code code, std::string detail, std::string pointer = {}) {
  return tl::unexpected<refusal>(refusal{coded_fault{code, std::move(detail), std::move(pointer)}, {}, {}});
}

} // namespace quell::controller
