// A connector's memory over restarts: a private file of the state directory, `chat/<name>.json`.
#pragma once

#include <functional>
#include <string>

#include "integrations/chat/chat.hpp"

namespace quell::controller::chat {

/// A memory larger than 4 MiB is not kept.
integrations::chat::memory memory_file(const std::string& state_directory, const std::string& name);
/// The same for the connector with the given name.
std::function<integrations::chat::memory(const std::string& name)> memories_in(std::string state_directory);

} // namespace quell::controller::chat
