// WAV files of 16-bit PCM: any rate and number of channels in, 16 kHz mono out. Pure.
#pragma once

#include <string>
#include <string_view>

#include "protocol/fault.hpp"

namespace quell::cli {

/// The samples as i16 LE, 16 kHz, mono. Fault `usage` says what is wrong with the file.
result<std::string> samples_of_wav(std::string_view file);
/// `samples`: i16 LE, 16 kHz, mono.
std::string wav_of_samples(std::string_view samples);

} // namespace quell::cli
