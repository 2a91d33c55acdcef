// The arithmetic of samples and time.
#include "integrations/voice/pace.hpp"

#include <algorithm>

#include "integrations/voice/wire.hpp"

namespace quell::integrations::voice {
namespace {

std::chrono::nanoseconds speech_time(std::size_t samples) {
  constexpr std::chrono::nanoseconds one_sample =
      std::chrono::nanoseconds(std::chrono::seconds(1)) / samples_per_second;
  return one_sample * static_cast<std::int64_t>(samples);
}

} // namespace

void pace::sent(boot_time now, std::size_t samples) {
  audible_until_ = std::max(audible_until_, now) + speech_time(samples);
}

void pace::delayed(boot_time now, std::size_t samples) {
  audible_until_ = std::max(audible_until_, now + speech_time(samples));
}

std::chrono::milliseconds pace::audible_for(boot_time now) const {
  return std::chrono::ceil<std::chrono::milliseconds>(std::max(audible_until_ + hearing_margin, now) - now);
}

} // namespace quell::integrations::voice
