// Makes untrusted text safe to keep and to show: whole UTF-8 characters, bounded, without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quell::integrations {

/// The bytes of the UTF-8 character at the beginning of `text`; 0 if it is invalid.
std::size_t character_length(std::string_view text);

/// Replaces every run of invalid bytes with one U+FFFD; valid UTF-8 comes back unchanged.
std::string repaired(std::string_view text);

/// The first `characters` characters; each run of control characters and white space becomes one space, and "…" marks
/// an omission.
std::string excerpt(std::string_view text, std::size_t characters);

/// True for text that is empty or only white space: providers refuse it.
bool blank(std::string_view text);

/// `text` with every occurrence of `secret` replaced, unless the secret is so short that it would match ordinary words.
std::string without(std::string text, std::string_view secret);

} // namespace quell::integrations
