// The loudest sample, on a logarithmic scale.
#include "cli/talk/level_meter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace quell::cli {

double peak_db(std::string_view samples) {
  constexpr double full = 32768, nothing = -96;
  int peak = 0;
  for (std::size_t i = 0; i + 1 < samples.size(); i += 2) {
    const auto low = static_cast<std::uint8_t>(samples[i]), high = static_cast<std::uint8_t>(samples[i + 1]);
    peak = std::max(peak, std::abs(static_cast<int>(static_cast<std::int16_t>(low | (high << 8)))));
  }
  return peak == 0 ? nothing : 20 * std::log10(peak / full);
}

std::string meter(double db, std::size_t width) {
  constexpr double lowest = -60;
  const auto part = std::clamp(1 - db / lowest, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(std::lround(part * static_cast<double>(width)));
  return "[" + std::string(filled, '#') + std::string(width - filled, '-') + "]";
}

} // namespace quell::cli
