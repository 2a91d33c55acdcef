// How many tokens there may be. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "controller/records/records.hpp"

namespace quell::controller {

/// The most tokens of all, and at or below the scope of an admin's token.
inline constexpr std::size_t most_tokens = 100'000, most_tokens_of_admin = 1'000;

/// Why an admin of `prefix` (nullopt: of everything) may make no further token for `scope`; nullopt: it may. Every
/// scoped admin above the new token counts it, so an admin gains nothing by making admins of inner scopes.
std::optional<std::string> token_refusal(const std::vector<records::token_record>& known,
                                         const std::optional<scope_path>& scope,
                                         const std::optional<scope_path>& prefix);

} // namespace quell::controller
