// Durations and sizes in a form that people read easily. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/duration.hpp"
#include "protocol/time.hpp"

namespace quell::cli {

/// Flags are parsed like the daemons' configuration: `protocol/duration.hpp`.
using quell::parse_duration;
using quell::parse_size;

/// Short, for people, two units at most: `740ms`, `2.4s`, `12s`, `3m05s`, `2h07m`, `5d3h`.
std::string duration_text(milliseconds d);

/// `812 B`, `1.8 KiB`, `3.0 GiB`.
std::string size_text(std::uint64_t bytes);

} // namespace quell::cli
