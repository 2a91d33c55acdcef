// The tools as an agent's client sees them: names, schemas, annotations. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/mcp/json.hpp"

namespace quell::cli::mcp {

namespace limits {
inline constexpr std::int64_t wait_ms = 55'000; ///< below the minute after which most clients give up
inline constexpr std::int64_t usual_wait_ms = 30'000;
inline constexpr std::int64_t list = 100;
inline constexpr std::int64_t usual_list = 20;
inline constexpr std::int64_t tail_bytes = 65'536;
inline constexpr std::int64_t usual_tail_bytes = 4096;
inline constexpr std::int64_t timeout_ms = 365LL * 24 * 3600 * 1000;
inline constexpr std::size_t words = 1000;
inline constexpr std::size_t command_bytes = 128 * 1024;
inline constexpr std::size_t labels = 64;
inline constexpr std::size_t label_characters = 128;
inline constexpr std::size_t title_characters = 200;
inline constexpr std::size_t reason_characters = 500;
inline constexpr std::size_t worker_characters = 128;
} // namespace limits

/// The values that `status` of a list can have.
inline constexpr std::string_view statuses[] = {"live",       "ended",     "pending", "running",  "paused",
                                                "cancelling", "completed", "failed",  "cancelled"};

/// The result of `tools/list`.
json tool_list();
/// The description of this server that a client can pass to its model.
std::string_view instructions();

} // namespace quell::cli::mcp
