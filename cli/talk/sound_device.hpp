// The microphone and the loudspeaker of `quell talk`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/http.hpp"
#include "cli/problem.hpp"

namespace quell::cli {

enum class listening : std::uint8_t { off, on };

enum class microphone : std::uint8_t {
  while_talking, ///< off until `listen`
  open           ///< always on; echo cancellation is asked for
};

/// Samples are i16 LE, 16 kHz, mono. On the loop's thread.
class sound_device {
 public:
  struct hooks {
    std::function<void(const std::string& samples)> recorded;
    std::function<void()> drained; ///< all samples that were given to `play` have been heard
    std::function<void(const problem&)> lost;
  };
  /// The sound server of this user, and its default devices. Fault `local`: there is none, and what to do.
  static answer<std::unique_ptr<sound_device>> open(event_loop& loop, microphone how, hooks h);
  virtual ~sound_device() = default;

  /// Switches the microphone; samples recorded before the end are still delivered, in this call.
  virtual void listen(listening now) = 0;
  /// Appends to what is playing.
  virtual void play(std::string_view samples) = 0;
  /// Discards at once what is not heard yet, also in the server: at most 40 ms are on their way to the loudspeaker.
  virtual void silence() = 0;
  virtual bool is_playing() const = 0;
  /// Both streams go through an echo canceller, so that the microphone does not hear the loudspeaker.
  virtual bool cancels_echo() const = 0;
};

} // namespace quell::cli
