// Parses and prints instants.
#include "cli/instant.hpp"

#include <array>
#include <cstdio>
#include <ctime>

#include "cli/duration.hpp"

namespace quell::cli {
namespace {

std::tm broken_down(wall_time at, time_zone zone) {
  const auto seconds =
      static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
  std::tm parts{};
  if (zone == time_zone::utc)
    ::gmtime_r(&seconds, &parts);
  else
    ::localtime_r(&seconds, &parts);
  return parts;
}

std::string formatted(const std::tm& parts, const char* pattern) {
  std::array<char, 64> buffer{};
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), pattern, &parts)};
}

} // namespace

std::optional<wall_time> parse_instant(std::string_view text) {
  if (text.size() < 20 || text.size() > 40 || text.back() != 'Z') return std::nullopt;
  const std::string copy(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) !=
          6 ||
      used != 19)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60 || hour < 0 || minute < 0 || second < 0)
    return std::nullopt;
  long fraction = 0;
  if (copy[19] == '.') {
    long unit = 100;
    for (std::size_t i = 20; i + 1 < copy.size(); ++i, unit /= 10) {
      if (copy[i] < '0' || copy[i] > '9') return std::nullopt;
      fraction += (copy[i] - '0') * unit;
    }
  } else if (copy.size() != 20) {
    return std::nullopt;
  }
  return wall_time{std::chrono::sys_days{date}} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         std::chrono::seconds{second} + milliseconds{fraction};
}

std::string instant_text(wall_time at) {
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ",
                static_cast<int>(((at.time_since_epoch().count() % 1000) + 1000) % 1000));
  return formatted(broken_down(at, time_zone::utc), "%Y-%m-%dT%H:%M:%S") + fraction.data();
}

std::string clock_text(wall_time at, wall_time now, time_zone zone) {
  const std::tm then = broken_down(at, zone), today = broken_down(now, zone);
  const char* mark = zone == time_zone::utc ? "Z" : "";
  if (then.tm_year != today.tm_year) return formatted(then, "%Y-%m-%d") + mark;
  if (then.tm_yday != today.tm_yday) return formatted(then, "%b %d %H:%M") + mark;
  return formatted(then, "%H:%M:%S") + mark;
}

std::string relative_text(wall_time at, wall_time now) {
  const milliseconds difference = now - at;
  if (difference.count() > -10 && difference.count() < 10) return "now";
  return difference.count() >= 0 ? duration_text(difference) + " ago" : "in " + duration_text(-difference);
}

wall_time wall_now() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

} // namespace quell::cli
