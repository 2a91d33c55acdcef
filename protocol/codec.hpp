// Wire messages to bytes and back (msgpack). Bad bytes produce a fault, never an exception or an assertion.
#pragma once

#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/messages.hpp"

namespace quell::wire {

/// A frame larger than this is refused before it is read (bytes).
inline constexpr std::size_t max_frame_bytes = 4 * 1024 * 1024;
/// Limits of one frame: values in all, and how deep they may nest.
inline constexpr std::size_t max_frame_values = 1'000'000;
inline constexpr std::size_t max_frame_depth = 16;
/// Elements of one list (inventory, results, operations, …).
inline constexpr std::size_t max_list_elements = 100'000;
/// Bytes in one `output`, `input` or `relay_data`; processes in a `task_unproven` or `task_ended`. A frame above this
/// limit is a `bad_frame`.
inline constexpr std::size_t max_chunk_bytes = 64 * 1024;
inline constexpr std::size_t max_listed_processes = 20;
/// Durations on the wire are 0 to 10 years and instants 1970 to 9999, so that no arithmetic on them can overflow.
inline constexpr std::chrono::milliseconds max_duration = std::chrono::hours{24 * 3653};
inline constexpr wall_time max_instant{std::chrono::milliseconds{253'402'300'799'999}};

/// msgpack array [session bin16, number, ack, tag, [fields…]]. The caller keeps lists short enough for
/// `max_frame_bytes`: the reader refuses longer frames.
std::string encode(const envelope& frame);
/// Faults: `too_large`, `bad_frame` (not msgpack, wrong shape, bad id, bad scope, unknown enumerator, nesting or counts
/// over the limit), `unknown_tag`. Missing trailing fields take their default; extra ones are ignored.
result<envelope> decode(std::string_view bytes);

/// msgpack array [tag, [fields…]].
std::string encode(const bulk_message& message);
/// The same bytes as of an `output` with these fields, with one copy of its bytes only.
std::string encode_output(const operation_id& operation, stream which, std::uint64_t offset, std::string_view bytes,
                          bool is_end);
result<bulk_message> decode_bulk(std::string_view bytes);

/// The version in the first field of a `hello` of *any* protocol version, so that an unsupported one can be refused
/// politely; nullopt if the bytes are not a hello.
std::optional<std::uint32_t> hello_version(std::string_view bytes);

} // namespace quell::wire
