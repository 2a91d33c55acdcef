// Hashes and random secrets with OpenSSL, and decoding of base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quell {

/// nullopt for any text that `base64url` does not write.
std::optional<std::string> from_base64url(std::string_view text);

/// Decodes padded base64 as `quell::base64` writes it; nullopt for any other text.
std::optional<std::string> from_base64(std::string_view text);

/// HMAC-SHA256, 32 raw bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// Compares in a time that does not depend on where the difference is.
bool equal_in_constant_time(std::string_view a, std::string_view b);
/// `count` bytes of the kernel's randomness; nullopt if it is unavailable.
std::optional<std::string> random_bytes(std::size_t count);

} // namespace quell
