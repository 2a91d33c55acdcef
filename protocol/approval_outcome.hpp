// The three ends of the wait of a call that a human must approve.
#pragma once

#include <cstdint>

namespace quell {

enum class approval_outcome : std::uint8_t {
  denied,
  approved,
  undecided ///< nobody decided in time: the call does not run, as if it were denied, and no person is blamed
};

constexpr approval_outcome approved_or_denied(bool is_approved) {
  return is_approved ? approval_outcome::approved : approval_outcome::denied;
}

} // namespace quell
