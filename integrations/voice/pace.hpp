// The pace of a speech: a client plays each chunk when it comes, behind the ones before it, so the time at which it has
// heard everything is known from what was sent, and when. Pure.
#pragma once

#include <chrono>
#include <cstddef>

#include "protocol/time.hpp"

namespace quell::integrations::voice {

/// Speech is sent this much ahead of the ear, so that a pause of the network is not heard, and a stop never leaves
/// minutes of it buffered elsewhere.
inline constexpr std::chrono::milliseconds speech_ahead{1000};
/// For the way to the client, its buffer, and the way back of a 07 that it sends at the last moment.
inline constexpr std::chrono::milliseconds hearing_margin{250};

class pace {
 public:
  /// The client hears an earlier speech until `begins`.
  explicit pace(boot_time begins) : audible_until_(begins) {}

  bool may_send(boot_time now) const { return audible_until_ < now + speech_ahead; }
  void sent(boot_time now, std::size_t samples);
  /// These samples, sent before, reach the client only now.
  void delayed(boot_time now, std::size_t samples);
  /// When the client will have played what was sent so far.
  boot_time audible_until() const { return audible_until_; }
  /// From `now` until everything has been heard for sure; never negative.
  std::chrono::milliseconds audible_for(boot_time now) const;

 private:
  boot_time audible_until_;
};

} // namespace quell::integrations::voice
