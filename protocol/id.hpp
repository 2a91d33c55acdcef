// Ids: UUIDv7, one C++ type per kind of thing, so that an operation's id cannot be passed as a cancel's id.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell {

/// 16 raw bytes, big endian as in RFC 9562, so that byte order is time order.
using uuid_bytes = std::array<std::uint8_t, 16>;

/// A UUIDv7 from its clock part and 10 random bytes (the version and variant bits are set here). Pure.
uuid_bytes make_uuid7(wall_time at, const std::array<std::uint8_t, 10>& random);

/// A fresh UUIDv7 from the wall clock and the kernel's randomness. Only for the edges of the system, never for pure
/// code.
uuid_bytes fresh_uuid7();

/// Lower case, 36 characters.
std::string uuid_text(const uuid_bytes& bytes);

/// The bytes of a lower-case, 36-character UUIDv7; nullopt for anything else (other versions, upper case, braces).
std::optional<uuid_bytes> parse_uuid7(std::string_view text);

/// The wall instant inside a UUIDv7.
wall_time uuid_time(const uuid_bytes& bytes);

template <class Tag>
struct basic_id {
  uuid_bytes bytes{};

  static basic_id fresh() { return {fresh_uuid7()}; }
  static std::optional<basic_id> parse(std::string_view text) {
    auto parsed = parse_uuid7(text);
    if (!parsed) return std::nullopt;
    return basic_id{*parsed};
  }
  bool is_nil() const { return bytes == uuid_bytes{}; }
  std::string text() const { return uuid_text(bytes); }
  wall_time time() const { return uuid_time(bytes); }

  friend auto operator<=>(const basic_id&, const basic_id&) = default;
};

using operation_id = basic_id<struct operation_tag>;
using cancel_id = basic_id<struct cancel_tag>;
using token_id = basic_id<struct token_tag>;
using cluster_id = basic_id<struct cluster_tag>;
/// One entry of a conversation.
using message_id = basic_id<struct message_tag>;
/// One life of a worker process; each restart makes a new one.
using incarnation_id = basic_id<struct incarnation_tag>;
/// One hello between a controller and a worker (DESIGN 3.9).
using session_id = basic_id<struct session_tag>;
/// One HTTP request, as written in the log.
using request_id = basic_id<struct request_tag>;

} // namespace quell

template <class Tag>
struct std::hash<quell::basic_id<Tag>> {
  std::size_t operator()(const quell::basic_id<Tag>& id) const noexcept {
    std::uint64_t high = 0, low = 0; // the low half is already random
    std::memcpy(&high, id.bytes.data(), 8);
    std::memcpy(&low, id.bytes.data() + 8, 8);
    return static_cast<std::size_t>(low ^ (high * 0x9e3779b97f4a7c15ULL));
  }
};
