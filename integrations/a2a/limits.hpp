// Limits on what a remote agent may send us, in one place; those of one HTTP answer are MCP's.
#pragma once

#include <chrono>
#include <cstddef>

namespace quell::integrations::a2a_limits {

constexpr std::size_t id_bytes = 256;                ///< of a task, and of a context
constexpr std::size_t url_bytes = 2048;              ///< of an interface
constexpr std::size_t artifacts = 64;                ///< of one task; further ones are left out
constexpr std::size_t parts = 256;                   ///< of all artifacts together; pieces of one text count once
constexpr std::size_t text_bytes = 1024 * 1024;      ///< of all artifacts together
constexpr std::size_t media_bytes = 32 << 20;        ///< of all files together, as they are sent (base64)
constexpr std::size_t agent_media_bytes = 128 << 20; ///< the same for all open calls of one agent
constexpr std::size_t description_characters = 1'000;
constexpr std::size_t skills = 16;
constexpr std::size_t skill_characters = 150;
constexpr std::size_t status_characters = 4'000; ///< of what a task says of its state
constexpr std::size_t open_calls = 256;          ///< of one agent at once
constexpr std::size_t open_questions = 64;       ///< calls of it beside which a lost task is still asked about

constexpr std::chrono::seconds card_fresh{300};      ///< an older card is read again in the background
constexpr std::chrono::milliseconds first_look{500}; ///< between two looks at a task without a stream
constexpr std::chrono::milliseconds longest_look{5'000};
constexpr std::chrono::seconds silent_stream{30};   ///< then the task is looked at beside its stream
constexpr std::chrono::seconds lost_after{300};     ///< a task about which nobody answers for so long is given up
constexpr std::chrono::seconds request_timeout{30}; ///< of every request but the stream
constexpr std::chrono::seconds cancel_timeout{60};  ///< a cancel is repeated, and its outcome awaited, for so long

} // namespace quell::integrations::a2a_limits
