// The bodies of POST /v1/operations and /v1/operations/batch as checked orders.
#pragma once

#include <string_view>
#include <vector>

#include "controller/orders.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

/// The order in `body`: shape, limits and words are checked; rights and the tree are not, and `by` is left empty.
tl::expected<create_order, problem> read_create(std::string_view body);

inline constexpr std::size_t max_batch = 1000;

/// The same for each item of a batch; a bad item does not affect the others.
tl::expected<std::vector<tl::expected<create_order, problem>>, problem> read_creates(std::string_view body);

} // namespace quell::controller::http
