// Reading the section [voice] of the configuration file.
#pragma once

#include <string>

#include "actors/voice/settings.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::voice {

/// Reads this section of `file` ("" = none). Fault `invalid_field`: the file, the line and the error.
result<voice_settings> read_voice_settings(const std::string& file);

} // namespace quell::controller::voice
