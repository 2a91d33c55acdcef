// Bytes as base64 (RFC 4648): with padding, and for addresses without. What reads it judges its own input, so that it
// can say what is wrong; the digits are here for that. Pure.
#pragma once

#include <string>
#include <string_view>

namespace quell {

inline constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
inline constexpr std::string_view base64url_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Padded with `=`.
std::string base64(std::string_view bytes);
/// Not padded.
std::string base64url(std::string_view bytes);

} // namespace quell
