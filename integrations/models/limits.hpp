// Limits on what a model provider may send us, in one place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace quell::integrations::limits {

constexpr std::size_t line_bytes = 4 * 1024 * 1024;     ///< one line of an event stream
constexpr std::size_t event_bytes = 4 * 1024 * 1024;    ///< the data lines of one event together
constexpr std::size_t stream_bytes = 128 * 1024 * 1024; ///< one answer with all its framing
constexpr std::size_t text_bytes = 8 * 1024 * 1024;     ///< total text of one answer
constexpr std::size_t input_bytes = 4 * 1024 * 1024;    ///< the inputs of all calls of one answer together
constexpr std::uint64_t tokens_of_call = 1ULL << 50;    ///< of a call, as its provider counts them
constexpr std::size_t calls = 128;                      ///< per answer
constexpr std::size_t call_id_bytes = 128;
constexpr std::size_t name_bytes = 128; ///< of a tool's name
constexpr std::size_t header_bytes = 256 * 1024;
constexpr std::size_t error_body_bytes = 16 * 1024;
constexpr std::size_t shown_characters = 300; ///< of a server's own error text in a fault
constexpr std::size_t json_depth = 200;
constexpr std::size_t script_bytes = 16 * 1024 * 1024;
/// If a server asks for a longer wait than this, the call fails instead.
constexpr std::chrono::milliseconds requested_wait{60'000};
/// Time after the answer's end for a usage chunk, and for the connection to become reusable.
constexpr std::chrono::milliseconds ending{5'000};

} // namespace quell::integrations::limits
