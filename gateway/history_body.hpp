// The body of POST /v1/history, checked for shape and limits.
#pragma once

#include <string_view>

#include "actors/turns/turn_scheduler.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

tl::expected<turns::history_order, problem> read_history_change(std::string_view text);
/// As in requests and answers.
const char* name_of_change(turns::history_order::action what);

} // namespace quell::controller::http
