// Signatures of Standard Webhooks: `v1,base64(HMAC-SHA256(secret, id.timestamp.body))`. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"

namespace quell::integrations::chat {

/// Largest accepted difference between a delivery's timestamp and our clock, in both directions.
inline constexpr std::chrono::seconds signature_tolerance{300};

/// The key in `whsec_…` (base64 of 16 to 128 bytes). Fault `invalid_field`, which does not contain the secret.
result<std::string> webhook_key(std::string_view secret);

/// `v1,…` with `key` in raw bytes; `timestamp` is in seconds since 1970.
std::string webhook_signature(std::string_view key, std::string_view id, std::string_view timestamp,
                              std::string_view body);

/// Whether one of the signatures in `header` (separated by spaces; versions other than v1 are ignored) is valid.
/// Constant time: does not depend on where the first difference is.
bool is_signed(std::string_view key, std::string_view id, std::string_view timestamp, std::string_view body,
               std::string_view header);

/// Whether `timestamp` is a decimal number of seconds within the tolerance of `now`.
bool is_recent(std::string_view timestamp, std::chrono::sys_seconds now);

} // namespace quell::integrations::chat
