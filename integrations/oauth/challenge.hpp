// What a refusing server says of how one gets in: the header WWW-Authenticate (RFC 9110, 6750, 9728). Pure.
#pragma once

#include <string>
#include <string_view>

namespace quell::integrations::oauth {

struct challenge {
  std::string resource_metadata; ///< URL; "" = not said
  std::string scope;             ///< "" = not said
  std::string error;             ///< such as `insufficient_scope`
  friend bool operator==(const challenge&, const challenge&) = default;
};

/// The first `Bearer` among the challenges of this value (several headers, or several in one). All empty if there is
/// none. Values that could not stand in a URL or a scope are dropped.
challenge read_challenge(std::string_view header);

} // namespace quell::integrations::oauth
