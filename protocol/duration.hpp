// Durations and sizes as people write them in configuration and flags: `250ms 30s 5m 2h 1d`, `64KiB 1MiB`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"

namespace quell {

/// A whole number with one of the units ms, s, m, h, d; a bare `0` is zero; at most 3650 days. Fault `invalid_field`.
result<milliseconds> parse_duration(std::string_view text);
/// A whole number of bytes, or with KiB, MiB, GiB; at most 2^53. Fault `invalid_field`.
result<std::uint64_t> parse_size(std::string_view text);
/// The shortest exact form that `parse_duration` reads back.
std::string duration_text(milliseconds d);

} // namespace quell
