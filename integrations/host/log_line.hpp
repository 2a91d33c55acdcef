// A log line as one JSON object: `{"time":…,"level":…,"message":…}` plus the ids that the message names. Pure.
#pragma once

#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::host {

/// One line without its line end. If the message contains `request ID`, `operation ID`, `cancel ID`, `turn ID` or
/// `worker NAME`, the id also becomes a member of that name, so that a collector can filter by it. Invalid UTF-8 is
/// replaced, and whatever is not ASCII escaped.
std::string json_log_line(wall_time at, std::string_view level, std::string_view message);

/// `TIME LEVEL MESSAGE` for people, without its line end. Text that a message quotes cannot look like another line
/// or reach a terminal as a control: further lines are indented, and unseen characters replaced.
std::string text_log_line(wall_time at, std::string_view level, std::string_view message);

/// `2026-11-20T09:51:07.123Z`.
std::string log_time(wall_time at);

} // namespace quell::host
