// Unguessable values: states, code verifiers, and their challenges (RFC 7636).
#pragma once

#include <string>
#include <string_view>

namespace quell::integrations::oauth {

/// 256 random bits as 43 characters of base64url.
std::string fresh_secret();

/// base64url of the SHA-256 of `verifier`, without padding.
std::string s256_challenge(std::string_view verifier);

/// With `+`, `/` and padding, as HTTP Basic requires.
std::string base64(std::string_view bytes);

/// Constant time: does not depend on where the first difference is.
bool same_secret(std::string_view one, std::string_view other);

} // namespace quell::integrations::oauth
