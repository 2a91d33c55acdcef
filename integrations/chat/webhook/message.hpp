// The body of an incoming delivery: a message as `POST /v1/messages` takes it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat {

/// `scope` absent: `base`; else it must lie at or below it. `id` absent: `delivery`, so that a delivery that comes
/// twice is known. `on_disconnect` and `coalesce_ms` are for those who hold a stream, and are passed by. `agent` is
/// refused: who answers is configured. Faults as those of the HTTP API.
result<said> read_incoming(std::string_view body, const scope_path& base, const std::string& delivery);

} // namespace quell::integrations::chat
