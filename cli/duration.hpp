// Durations and sizes as people write them: `250ms 30s 5m 2h 1d`, `64KiB 1MiB`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"

namespace quell::cli {

/// A whole number with one of the units ms, s, m, h, d; a bare `0` is zero. At most 3650 days. Fault `usage` otherwise.
result<milliseconds> parse_duration(std::string_view text);

/// A whole number of bytes, or with KiB, MiB, GiB. At most 2^53. Fault `usage` otherwise.
result<std::uint64_t> parse_size(std::string_view text);

/// Short, for people, two units at most: `740ms`, `2.4s`, `12s`, `3m05s`, `2h07m`, `5d3h`.
std::string duration_text(milliseconds d);

/// `812 B`, `1.8 KiB`, `3.0 GiB`.
std::string size_text(std::uint64_t bytes);

} // namespace quell::cli
