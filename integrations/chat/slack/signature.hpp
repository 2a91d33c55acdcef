// Slack's request signatures: `v0=` and the HMAC-SHA256 of `v0:<timestamp>:<body>`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quell::integrations::chat {

/// Largest accepted difference between a request's timestamp and our clock, in seconds.
inline constexpr std::int64_t slack_tolerance = 300;

/// The required value of `X-Slack-Signature`.
std::string slack_signature(std::string_view secret, std::string_view timestamp, std::string_view body);

enum class slack_check : std::uint8_t { good, wrong, stale };
/// `now`: seconds since 1970. Constant time: does not depend on where the first difference is. An empty secret never
/// matches.
slack_check check_slack(std::string_view secret, std::string_view signature, std::string_view timestamp,
                        std::string_view body, std::int64_t now);

} // namespace quell::integrations::chat
