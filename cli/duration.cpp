// Formats durations and sizes for people.
#include "cli/duration.hpp"

#include <array>
#include <cstdio>

namespace quell::cli {
namespace {

std::string format(const char* pattern, auto... values) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), pattern, values...);
  return buffer.data();
}

} // namespace

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
