// Signatures of webhooks as Standard Webhooks has them: `v1,base64(HMAC-SHA256(secret, id.timestamp.body))`. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"

namespace quell::integrations::chat {

/// How far the time of a signed delivery may lie from ours, in both directions.
inline constexpr std::chrono::seconds signature_tolerance{300};

/// The key behind `whsec_…` (base64 of 16 to 128 bytes). Fault `invalid_field` without the secret in it.
result<std::string> webhook_key(std::string_view secret);

/// `v1,…` with `key` in raw bytes; `timestamp` is in seconds since 1970.
std::string webhook_signature(std::string_view key, std::string_view id, std::string_view timestamp,
                              std::string_view body);

/// Whether one of the signatures in `header` (separated by spaces; versions other than v1 are passed by) is ours. Takes
/// the same time wherever the first difference is.
bool is_signed(std::string_view key, std::string_view id, std::string_view timestamp, std::string_view body,
               std::string_view header);

/// Whether `timestamp` is a decimal number of seconds within the tolerance of `now`.
bool is_recent(std::string_view timestamp, std::chrono::sys_seconds now);

} // namespace quell::integrations::chat
