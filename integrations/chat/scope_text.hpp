// Conversion of chat services' ids and names to scope segments (SURFACE 1), and back. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/scope.hpp"

namespace quell::integrations::chat {

/// Any bytes as one segment: `A-Z a-z 0-9 . _ - : @ + =` stay, every other byte, including `~`, becomes `~XX`
/// (upper-case hex); "" is `~`, `.` is `~2E` and `..` is `~2E~2E`. Different texts always have different segments, even
/// if they look alike. nullopt if it would be longer than 128 characters.
std::optional<std::string> segment_of(std::string_view text);

/// The bytes of a segment that segment_of made; nullopt for any other text, such as `~2e` or `~41`.
std::optional<std::string> text_of_segment(std::string_view segment);

/// `texts` as a scope of that many segments; nullopt if one of them, or all, would be too long.
std::optional<scope_path> scope_of(const std::vector<std::string_view>& texts);

/// The texts of a scope that scope_of made; nullopt if a segment is not one of segment_of's.
std::optional<std::vector<std::string>> texts_of(const scope_path& scope);

} // namespace quell::integrations::chat
