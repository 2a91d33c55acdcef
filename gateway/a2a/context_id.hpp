// A conversation's contextId in A2A, and its scope: each can be had from the other. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/scope.hpp"

namespace quell::controller::http::a2a {

/// `base`: the scope below which this caller's conversations with the agent lie; "" = none. An id without `/` is the
/// conversation BASE/a2a/ID. One with `/` is a scope in full, which a `/` at its beginning marks if it has one segment.
/// Nullopt: not an id of a scope.
std::optional<scope_path> scope_of_context(std::string_view id, const std::string& base);
std::string context_of_scope(const scope_path& scope, const std::string& base);

/// The contextId of a message that names none: the same for the same message of the same token to the same agent, so
/// that a repeated message finds its first task.
std::string fresh_context(std::string_view token_id, std::string_view agent, std::string_view message);

} // namespace quell::controller::http::a2a
