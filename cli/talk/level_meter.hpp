// How loud the microphone is, for one line of a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quell::cli {

/// The peak of i16 LE samples in decibels below full scale: 0 = full, -96 = nothing.
double peak_db(std::string_view samples);
/// A bar for -60 dB to 0 dB; a full one means that the microphone is overdriven.
std::string meter(double db, std::size_t width);

} // namespace quell::cli
