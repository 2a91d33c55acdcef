// A log line as one JSON object: `{"time":…,"level":…,"message":…}` and the ids that the sentence names. Pure.
#pragma once

#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::host {

/// One line without its end. Where the message says `request ID`, `operation ID`, `cancel ID`, `turn ID` or
/// `worker NAME`, that becomes a member of this name too, so that a collector can select by it. What is no UTF-8 is
/// replaced.
std::string json_log_line(wall_time at, std::string_view level, std::string_view message);

/// `2026-11-20T09:51:07.123Z`.
std::string log_time(wall_time at);

} // namespace quell::host
