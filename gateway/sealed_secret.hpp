// Seals the secrets of tasks between their create and their start, so that neither the store nor its backups hold them
// in clear. The key comes from `task-token.key`, which lies beside the store and not in it. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace quell::controller {

/// AES-256-GCM with a fresh nonce, bound to `name`. nullopt if this machine has no randomness.
std::optional<std::string> seal_secret(std::string_view key, std::string_view name, std::string_view contents);
/// The plain text; nullopt for another key, another name, or bytes that were never sealed.
std::optional<std::string> open_secret(std::string_view key, std::string_view name, std::string_view sealed);
/// All secrets of a task; "" for one that cannot be opened: the worker then refuses the start.
std::map<std::string, std::string> open_secrets(std::string_view key, const std::map<std::string, std::string>& sealed);

} // namespace quell::controller
