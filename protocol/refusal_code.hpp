// Why a controller refuses a hello or ends a session: `code` of the message `refuse`. The field is a text, since a
// newer controller may send another one (docs/PROTOCOL.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/messages.hpp"

namespace quell {

enum class refusal_code : std::uint8_t {
  unsupported_version,
  not_enrolled, ///< the key is not known here
  removed,      ///< the worker was enrolled, and is no longer
  other_cluster,
  lease_held,  ///< another life with this key may still run tasks
  old_epoch,   ///< the worker has seen a later epoch or seq than this controller has
  session_over ///< this session is unknown, or over
};

struct refusal_code_row {
  refusal_code code;
  std::string_view text;
};

/// All codes, in the enumerators' order.
inline constexpr auto refusal_codes = std::to_array<refusal_code_row>({
    {refusal_code::unsupported_version, "unsupported_version"},
    {refusal_code::not_enrolled, "not_enrolled"},
    {refusal_code::removed, "removed"},
    {refusal_code::other_cluster, "other_cluster"},
    {refusal_code::lease_held, "lease_held"},
    {refusal_code::old_epoch, "old_epoch"},
    {refusal_code::session_over, "session_over"},
});

constexpr std::string_view name_of(refusal_code code) { return refusal_codes[static_cast<std::size_t>(code)].text; }

namespace refusal_code_checks {
constexpr bool are_complete() {
  for (std::size_t i = 0; i < refusal_codes.size(); ++i)
    if (refusal_codes[i].code != static_cast<refusal_code>(i)) return false;
  return refusal_codes.size() == static_cast<std::size_t>(refusal_code::session_over) + 1;
}
static_assert(are_complete());
} // namespace refusal_code_checks

/// `retry_after`: 0 = do not reconnect.
inline wire::refuse refusal_of(refusal_code code, std::string message, milliseconds retry_after) {
  return {std::string(name_of(code)), std::move(message), retry_after};
}
inline bool has_code(const wire::refuse& r, refusal_code code) { return r.code == name_of(code); }

} // namespace quell
