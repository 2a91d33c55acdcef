// How Slack signs its requests: `v0=` and HMAC-SHA256 of `v0:<timestamp>:<body>`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quell::integrations::chat {

/// How far a request's timestamp may be from our clock, in seconds.
inline constexpr std::int64_t slack_tolerance = 300;

/// What `X-Slack-Signature` must be.
std::string slack_signature(std::string_view secret, std::string_view timestamp, std::string_view body);

enum class slack_check : std::uint8_t { good, wrong, stale };
/// `now`: seconds since 1970. Takes the same time wherever the first difference is. An empty secret fits nothing.
slack_check check_slack(std::string_view secret, std::string_view signature, std::string_view timestamp,
                        std::string_view body, std::int64_t now);

} // namespace quell::integrations::chat
