// The start of `logs --tail` and `logs --since`, as an offset into the stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cli/api.hpp"

namespace quell::cli {

/// Index of the first byte of the last `lines` lines; a final line without a line break counts. npos if `bytes` holds
/// fewer. Pure.
std::size_t last_lines(std::string_view bytes, std::uint64_t lines);

/// The offset at which the last `lines` lines of the stream begin.
answer<std::uint64_t> tail_offset(api& controller, const std::string& operation, const std::string& stream,
                                  std::uint64_t lines);

/// Stream name to the offset of the first output at or after `from`; an absent stream had no output since then.
answer<std::map<std::string, std::uint64_t>> offsets_since(api& controller, const std::string& operation,
                                                           wall_time from);

} // namespace quell::cli
