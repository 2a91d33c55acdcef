// What a connector remembers over restarts: a private file of the state directory, `chat/<name>.json`.
#pragma once

#include <string>

#include "integrations/chat/chat.hpp"

namespace quell::controller::chat {

/// What is larger than 4 MiB is not kept.
integrations::chat::memory memory_file(const std::string& state_directory, const std::string& name);

} // namespace quell::controller::chat
