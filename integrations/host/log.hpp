// The log of a program: spdlog's default logger, on stderr, as text or as lines of JSON.
#pragma once

#include <string>
#include <string_view>

#include "protocol/fault.hpp"

namespace quell::host {

/// `level`: debug, info, warn or error. `format`: text or json. Fault `invalid_field` for anything else.
result<void> check_log(std::string_view level, std::string_view format);
/// Makes the process's log. Call once, before anything is logged; level and format have been checked.
void start_log(const std::string& program, const std::string& level, const std::string& format);
/// Changes the level of the running log. Any thread.
void set_log_level(const std::string& level);

} // namespace quell::host
