// Instants: RFC 3339 as in the API, and their form in tables. Pure except for the local time zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::cli {

enum class time_zone : std::uint8_t { local, utc };

/// `2026-11-20T09:51:07.123Z` (the fraction is optional); nullopt for anything else.
std::optional<wall_time> parse_instant(std::string_view text);

/// RFC 3339 UTC with milliseconds.
std::string instant_text(wall_time at);

/// For people: `09:51:07` today, `Nov 19 09:51` this year, `2025-11-19` before; UTC with a `Z`.
std::string clock_text(wall_time at, wall_time now, time_zone zone);

/// `3m05s ago`, `in 2.0s`, `now`.
std::string relative_text(wall_time at, wall_time now);

wall_time wall_now();

} // namespace quell::cli
