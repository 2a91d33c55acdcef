// Instants as text, independent of locale and of this machine's time zone.
#include "controller/json/instant.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace quell::controller::http {

namespace {

/// Reads exactly `digits` digits at `at` and advances `at`; -1 if they are not there.
int number(std::string_view text, std::size_t& at, std::size_t digits) {
  if (text.size() < at + digits) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const char c = text[at + i];
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  at += digits;
  return value;
}

bool skip(std::string_view text, std::size_t& at, char wanted) {
  if (at >= text.size() || text[at] != wanted) return false;
  ++at;
  return true;
}

void put_digits(std::string& text, std::size_t at, std::size_t digits, unsigned value) {
  for (; digits > 0; value /= 10) text[at + --digits] = static_cast<char>('0' + value % 10);
}

/// For years that do not have four digits.
std::string printed(int year, const std::chrono::year_month_day& date,
                    const std::chrono::hh_mm_ss<wall_time::duration>& time) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", year,
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text.data();
}

} // namespace

std::string instant_text(wall_time at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{at - day};
  const int year = static_cast<int>(date.year());
  if (year < 0 || year > 9999) return printed(year, date, time);
  // Without `snprintf`, which is several times slower: each shown operation has several instants.
  std::string text = "0000-00-00T00:00:00.000Z";
  put_digits(text, 0, 4, static_cast<unsigned>(year));
  put_digits(text, 5, 2, static_cast<unsigned>(date.month()));
  put_digits(text, 8, 2, static_cast<unsigned>(date.day()));
  put_digits(text, 11, 2, static_cast<unsigned>(time.hours().count()));
  put_digits(text, 14, 2, static_cast<unsigned>(time.minutes().count()));
  put_digits(text, 17, 2, static_cast<unsigned>(time.seconds().count()));
  put_digits(text, 20, 3, static_cast<unsigned>(time.subseconds().count()));
  return text;
}

std::optional<wall_time> parse_instant(std::string_view text) {
  using namespace std::chrono;
  std::size_t at = 0;
  const int y = number(text, at, 4);
  if (y < 1970 || !skip(text, at, '-')) return std::nullopt;
  const int m = number(text, at, 2);
  if (m < 0 || !skip(text, at, '-')) return std::nullopt;
  const int d = number(text, at, 2);
  if (d < 0 || !(skip(text, at, 'T') || skip(text, at, 't'))) return std::nullopt;
  const int hour = number(text, at, 2);
  if (hour < 0 || hour > 23 || !skip(text, at, ':')) return std::nullopt;
  const int minute = number(text, at, 2);
  if (minute < 0 || minute > 59 || !skip(text, at, ':')) return std::nullopt;
  const int second = number(text, at, 2);
  if (second < 0 || second > 60) return std::nullopt;
  int thousandths = 0;
  if (skip(text, at, '.')) {
    int scale = 100;
    const auto first = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10)
      thousandths += (text[at] - '0') * scale;
    if (at == first) return std::nullopt;
  }
  int offset_minutes = 0;
  if (!(skip(text, at, 'Z') || skip(text, at, 'z'))) {
    if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return std::nullopt;
    const int sign = text[at++] == '+' ? 1 : -1;
    const int hours = number(text, at, 2);
    if (hours < 0 || hours > 23 || !skip(text, at, ':')) return std::nullopt;
    const int rest = number(text, at, 2);
    if (rest < 0 || rest > 59) return std::nullopt;
    offset_minutes = sign * (hours * 60 + rest);
  }
  if (at != text.size()) return std::nullopt;
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  if (!date.ok()) return std::nullopt;
  return wall_time{sys_days{date}} + hours{hour} + minutes{minute - offset_minutes} + seconds{second} +
         milliseconds{thousandths};
}

} // namespace quell::controller::http
