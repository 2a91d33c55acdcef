// Bytes as base64 (RFC 4648), padded, and as base64url, not padded. Readers check their own input, so that they can say
// what is wrong with it; the digits are declared here for them. Pure.
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
