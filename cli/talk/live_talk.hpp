// `quell talk` with a sound device: keys, microphone, loudspeaker, level meter and live transcript on a terminal.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/exit_code.hpp"
#include "cli/session.hpp"
#include "cli/talk/evdev_keys.hpp"
#include "cli/talk/frame_stream.hpp"
#include "cli/talk/sound_device.hpp"
#include "cli/talk/talk_keys.hpp"

namespace quell::cli {

struct live_settings {
  microphone how = microphone::while_talking;
  char talk_key = ' ';
  char cancel_key = escape_key; ///< beside Esc and 4
  /// Keys of a keyboard, beside those of the terminal: one talks while it is held, the other cancels.
  std::optional<hotkey> held_talk_key{}, far_cancel_key{};
  milliseconds allowance{0}; ///< for the gateway to be ready
};

/// Talks until the user leaves. Returns the exit code.
exit_code talk_live(session& s, std::unique_ptr<frame_stream> to, const std::string& hello, const live_settings& how);

} // namespace quell::cli
