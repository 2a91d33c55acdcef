// Equality of IRC names, and the scope of a channel or nick. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/scope.hpp"

namespace quell::integrations::chat::irc {

/// The letters that a server counts as equal (CASEMAPPING).
enum class case_mapping : std::uint8_t {
  ascii,
  rfc1459,       ///< also maps `[]\~` to `{}|^`
  rfc1459_strict ///< the same without `~^`
};

/// Unknown mappings are `ascii`: that can only treat too few names as equal.
case_mapping mapping_of(std::string_view name);

std::string folded(std::string_view name, case_mapping mapping);
inline bool is_same(std::string_view a, std::string_view b, case_mapping mapping) {
  return a.size() == b.size() && folded(a, mapping) == folded(b, mapping);
}

/// Whether the name can be a word in a line: 1 to 128 bytes, without spaces, commas, control characters or a leading
/// colon.
bool is_sendable(std::string_view name);

/// `irc/<network>/<target>`; nullopt if a name is too long. `target` is folded.
std::optional<scope_path> scope_of_target(std::string_view network, std::string_view target, case_mapping mapping);

/// The folded channel or nick of a scope at or below one of `network`; nullopt for any other scope.
std::optional<std::string> target_of_scope(const scope_path& scope, std::string_view network);

} // namespace quell::integrations::chat::irc
