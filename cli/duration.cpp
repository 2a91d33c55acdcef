// Durations and sizes: parser and printer.
#include "cli/duration.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace quell::cli {
namespace {

struct number {
  std::uint64_t value = 0;
  std::string_view unit;
};

/// Leading digits and what follows them; false without digits or on overflow.
bool split(std::string_view text, number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error != std::errc{}) return false;
  out.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string format(const char* pattern, auto... values) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), pattern, values...);
  return buffer.data();
}

} // namespace

result<milliseconds> parse_duration(std::string_view text) {
  constexpr std::uint64_t most = 3650ULL * 86'400'000ULL;
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> units{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
  const std::string shown(text.substr(0, 40));
  number n;
  if (!split(text, n)) return failure("usage", "'" + shown + "' is no duration: write 250ms, 30s, 5m, 2h or 1d");
  if (n.unit.empty() && n.value == 0) return milliseconds{0};
  if (n.unit.empty())
    return failure("usage", "'" + shown + "' has no unit: write " + shown + "s, " + shown + "ms or " + shown + "m");
  for (const auto& [name, factor] : units) {
    if (n.unit != name) continue;
    if (n.value > most / factor) return failure("usage", "'" + shown + "' is more than 3650 days");
    return milliseconds{static_cast<std::int64_t>(n.value * factor)};
  }
  return failure("usage", "'" + shown + "' has an unknown unit: use ms, s, m, h or d");
}

result<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::uint64_t most = 1ULL << 53;
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> units{
      {{"", 1}, {"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}}};
  const std::string shown(text.substr(0, 40));
  number n;
  if (!split(text, n)) return failure("usage", "'" + shown + "' is no size: write 4096, 64KiB or 1MiB");
  for (const auto& [name, factor] : units) {
    if (n.unit != name) continue;
    if (n.value > most / factor) return failure("usage", "'" + shown + "' is too large");
    return n.value * factor;
  }
  return failure("usage", "'" + shown + "' has an unknown unit: use KiB, MiB or GiB");
}

std::string duration_text(milliseconds d) {
  const long long ms = d.count() < 0 ? 0 : d.count();
  const long long s = ms / 1000;
  if (ms < 1000) return format("%lldms", ms);
  if (s < 10) return format("%lld.%llds", s, ms % 1000 / 100);
  if (s < 60) return format("%llds", s);
  if (s < 3600) return format("%lldm%02llds", s / 60, s % 60);
  if (s < 86'400) return format("%lldh%02lldm", s / 3600, s % 3600 / 60);
  return format("%lldd%lldh", s / 86'400, s % 86'400 / 3600);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return format("%llu B", static_cast<unsigned long long>(bytes));
  constexpr std::array<const char*, 5> names{"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < names.size(); ++unit) value /= 1024;
  return format("%.1f %s", value, names[unit]);
}

} // namespace quell::cli
