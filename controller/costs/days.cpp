// Dates of the Gregorian calendar, without a locale.
#include "controller/costs/days.hpp"

#include <charconv>
#include <cstdio>

namespace quell::controller::costs {

std::string day_text(utc_day day) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()));
  return text;
}

std::optional<utc_day> parse_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) -> std::optional<unsigned> {
    unsigned value = 0;
    const char* const end = text.data() + at + size;
    const auto read = std::from_chars(text.data() + at, end, value);
    return read.ec == std::errc{} && read.ptr == end ? std::optional(value) : std::nullopt;
  };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (!year || !month || !day || *year < 1970) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(*year)}, std::chrono::month{*month},
                                         std::chrono::day{*day}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

} // namespace quell::controller::costs
