// Parses one number and one unit: no fractions and no sums, so that a typing error never yields another duration.
#include "protocol/duration.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace quell {

namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::array<unit, 5> time_units{{{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::array<unit, 4> size_units{{{"", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}}};

std::pair<std::optional<std::uint64_t>, std::string_view> split(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return {std::nullopt, text};
  return {number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

} // namespace

result<milliseconds> parse_duration(std::string_view text) {
  const auto [number, rest] = split(text);
  if (number && *number == 0 && rest.empty()) return milliseconds{0};
  constexpr std::uint64_t most = 3650ULL * 86'400'000;
  if (number)
    for (const auto& u : time_units)
      if (rest == u.name && *number <= most / u.factor)
        return milliseconds{static_cast<std::int64_t>(*number * u.factor)};
  return failure(error_code::invalid_field,
                 "'" + std::string(text) +
                     "' is not a duration: write 250ms, 30s, 5m, 2h or 1d (0 without a unit), at most 3650d");
}

result<std::uint64_t> parse_size(std::string_view text) {
  const auto [number, rest] = split(text);
  constexpr std::uint64_t most = 1ULL << 53;
  if (number)
    for (const auto& u : size_units)
      if (rest == u.name && *number <= most / u.factor) return *number * u.factor;
  return failure(error_code::invalid_field,
                 "'" + std::string(text) + "' is not a size: write bytes, or 64KiB, 1MiB, 2GiB");
}

std::string duration_text(milliseconds d) {
  const auto ms = static_cast<std::uint64_t>(d.count());
  if (ms == 0) return "0";
  for (auto u = time_units.rbegin(); u != time_units.rend(); ++u)
    if (ms % u->factor == 0) return std::to_string(ms / u->factor) + std::string(u->name);
  return std::to_string(ms) + "ms";
}

} // namespace quell
