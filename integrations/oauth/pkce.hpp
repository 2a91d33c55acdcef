// What nobody must guess: states, code verifiers, and their challenges (RFC 7636).
#pragma once

#include <string>
#include <string_view>

namespace quell::integrations::oauth {

/// 256 random bits as 43 characters of base64url.
std::string fresh_secret();

/// base64url of the SHA-256 of `verifier`, without padding.
std::string s256_challenge(std::string_view verifier);

/// With `+`, `/` and padding, as HTTP's Basic wants it.
std::string base64(std::string_view bytes);

/// Takes the same time wherever the first difference is.
bool same_secret(std::string_view one, std::string_view other);

} // namespace quell::integrations::oauth
