// Ed25519 signatures of Discord's requests. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations::chat::discord {

/// The bytes of an even number of hex digits, of either case; nullopt for anything else.
std::optional<std::string> from_hex(std::string_view digits);

/// Whether `signature` (64 bytes) over `message` was made with the private half of `public_key` (32 bytes).
bool is_ed25519_signed(std::string_view public_key, std::string_view message, std::string_view signature);

} // namespace quell::integrations::chat::discord
