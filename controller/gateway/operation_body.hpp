// The body of POST /v1/operations as a checked order.
#pragma once

#include <string_view>

#include "controller/gateway/problem.hpp"
#include "controller/orders.hpp"

namespace quell::controller::http {

/// The order in `body`: shape, limits and words are checked; rights and the tree are not, and `by` is left empty.
tl::expected<create_order, problem> read_create(std::string_view body);

} // namespace quell::controller::http
