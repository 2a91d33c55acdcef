// Instants as text: writes RFC 3339 with milliseconds, reads any RFC 3339 instant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::controller::http {

/// `2026-11-20T09:51:07.123Z`.
std::string instant_text(wall_time at);
/// The instant of an RFC 3339 text (`Z` or `+hh:mm`), cut to milliseconds; nullopt for anything else.
std::optional<wall_time> parse_instant(std::string_view text);

} // namespace quell::controller::http
