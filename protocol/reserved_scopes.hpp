// The scopes of quell's own work, such as MCP servers and recognisers.
#pragma once

#include "protocol/scope.hpp"

namespace quell {

/// Whether nobody else may start or say anything there: `quell`, and every scope below it.
inline bool is_reserved(const scope_path& scope) { return scope.segments().front() == "quell"; }

inline constexpr const char* reserved_scope_words = "is reserved for quell's own work; choose one outside of quell/";

} // namespace quell
