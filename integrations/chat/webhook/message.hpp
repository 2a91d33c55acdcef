// The body of an incoming delivery: a message in the form of `POST /v1/messages`. Pure.
#pragma once

#include <string>
#include <string_view>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat {

/// `scope` absent: `base`; otherwise it must lie at or below `base`. `id` absent: `delivery`, so that a repeated
/// delivery is recognised. `on_disconnect` and `coalesce_ms` only concern streaming clients and are ignored. `agent` is
/// refused: the configuration chooses it. Faults are those of the HTTP API.
result<incoming_message> read_incoming(std::string_view body, const scope_path& base, const std::string& delivery);

} // namespace quell::integrations::chat
