// Days of UTC. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "controller/records/costs.hpp"

namespace quell::controller::costs {

using records::utc_day;

inline utc_day day_of(wall_time at) { return std::chrono::floor<std::chrono::days>(at).time_since_epoch().count(); }
/// The first instant of a day.
inline wall_time begin_of(utc_day day) { return wall_time{std::chrono::days{day}}; }

/// `2026-11-23`.
std::string day_text(utc_day day);
/// The day of such a text, from 1970 to 9999; nullopt for anything else.
std::optional<utc_day> parse_day(std::string_view text);

} // namespace quell::controller::costs
