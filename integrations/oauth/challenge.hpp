// The WWW-Authenticate header, in which a refusing server says how to log in (RFC 9110, 6750, 9728). Pure.
#pragma once

#include <string>
#include <string_view>

namespace quell::integrations::oauth {

struct challenge {
  std::string resource_metadata; ///< URL; "" = not given
  std::string scope;             ///< "" = not given
  std::string error;             ///< such as `insufficient_scope`
  friend bool operator==(const challenge&, const challenge&) = default;
};

/// The first `Bearer` challenge in this value (several headers, or several challenges in one). All members are empty if
/// there is none. Values that are not valid in a URL or a scope are dropped.
challenge read_challenge(std::string_view header);

} // namespace quell::integrations::oauth
