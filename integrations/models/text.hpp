// Text from elsewhere made safe to keep and to show: whole UTF-8 characters, bounded, without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quell::integrations {

/// The bytes of the UTF-8 character at the beginning of `text`; 0 if there is no valid one.
std::size_t character_length(std::string_view text);

/// Every run of bytes that is no UTF-8 becomes one U+FFFD; valid text comes back as it was.
std::string repaired(std::string_view text);

/// The first `characters` of it, control characters and runs of white space as one space, "…" where something is left
/// out.
std::string excerpt(std::string_view text, std::size_t characters);

/// True for text that is empty or white space only: providers refuse it.
bool blank(std::string_view text);

/// `text` with every occurrence of `secret` replaced, unless it is so short that it would hit ordinary words.
std::string without(std::string text, std::string_view secret);

} // namespace quell::integrations
