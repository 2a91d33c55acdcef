// The rule of an open microphone without echo cancellation: it is deaf while something plays and for 300 ms after it,
// the time in which a room falls silent. Pure.
#pragma once

#include <chrono>
#include <optional>

namespace quell::cli {

class half_duplex {
 public:
  using instant = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds tail{300};

  /// The loudspeaker sounds now.
  void sounds(instant now) { last_ = now; }
  /// Samples that were recorded until now may be sent.
  bool may_hear(instant now) const { return !last_ || now - *last_ >= tail; }

 private:
  std::optional<instant> last_;
};

} // namespace quell::cli
