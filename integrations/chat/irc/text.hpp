// Text to and from IRC: removes formatting codes, cuts long lines. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quell::integrations::chat::irc {

/// UTF-8 without formatting codes (bold, colours, …) and control characters; invalid UTF-8 becomes U+FFFD.
std::string plain(std::string_view text);

/// A CTCP message: `\x01ACTION waves\x01`.
struct ctcp {
  std::string command; ///< upper case
  std::string_view text;
};
std::optional<ctcp> read_ctcp(std::string_view text);

/// `text` (UTF-8) as lines without line ends, each at most `most` bytes (at least 4), cut after a space if there is one
/// in the last half, never inside a character. Line breaks end a line; blank lines are left out. Joined again with the
/// original line breaks, the lines are the text; a character that a line cannot contain becomes a space.
std::vector<std::string> lines_of(std::string_view text, std::size_t most);

/// Bytes of text that fit into a PRIVMSG to `target` as others receive it, that is with our prefix.
std::size_t room_for_text(std::string_view prefix, std::string_view target);

} // namespace quell::integrations::chat::irc
