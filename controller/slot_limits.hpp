// How many slots of workers single guilds may hold at once. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace quell::controller {

/// Slots by guild, the first two segments of a scope. Never 0.
using slots_by_guild = std::map<std::string, std::uint32_t>;

} // namespace quell::controller
