// `quell talk --file`: a file as microphone, and a file as speaker.
#pragma once

#include <memory>
#include <string>

#include "cli/exit_code.hpp"
#include "cli/session.hpp"
#include "cli/talk/frame_stream.hpp"

namespace quell::cli {

struct file_speech {
  exit_code code = exit_code::done;
  std::string samples; ///< that reached the speaker
};

/// Sends the hello and the samples, and waits until the answer was spoken or cancelled, or `allowance` is over. Keys
/// are read from standard input, one byte each. SIGINT, SIGTERM and SIGHUP cancel and end it.
file_speech talk_with_file(session& s, std::unique_ptr<frame_stream> to, const std::string& hello,
                           const std::string& samples, char cancel_key, milliseconds allowance);

} // namespace quell::cli
