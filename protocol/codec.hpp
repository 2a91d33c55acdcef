// Wire messages to bytes and back (msgpack). Bad bytes give a fault, never an exception or an assertion.
#pragma once

#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/messages.hpp"

namespace quell::wire {

/// A frame larger than this is refused before it is read (bytes).
inline constexpr std::size_t max_frame_bytes = 4 * 1024 * 1024;

/// msgpack array [session bin16, number, ack, tag, [fields…]].
std::string encode(const envelope& frame);
/// Faults: `too_large`, `bad_frame` (not msgpack, wrong shape, bad id, bad scope, unknown enumerator, nesting or counts over the
/// limit), `unknown_tag`. Missing trailing fields take their default; extra ones are ignored.
result<envelope> decode(std::string_view bytes);

/// msgpack array [tag, [fields…]].
std::string encode(const bulk_message& message);
result<bulk_message> decode_bulk(std::string_view bytes);

/// The version in the first field of a `hello` of *any* protocol version, so that a strange one can be refused politely; nullopt if the
/// bytes are no hello at all.
std::optional<std::uint32_t> hello_version(std::string_view bytes);

} // namespace quell::wire
