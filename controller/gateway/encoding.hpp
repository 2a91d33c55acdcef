// Hashes and random secrets, over OpenSSL, and base64 that comes back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quell::controller::http {

/// nullopt for anything that `base64url` does not write.
std::optional<std::string> from_base64url(std::string_view text);

/// Padded base64 as `quell::base64` writes it; nullopt for anything else.
std::optional<std::string> from_base64(std::string_view text);

/// HMAC-SHA256, 32 raw bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// Compares without telling by its time where the difference is.
bool equal_in_constant_time(std::string_view a, std::string_view b);
/// `count` bytes of the kernel's randomness; nullopt if there is none.
std::optional<std::string> random_bytes(std::size_t count);

} // namespace quell::controller::http
