// What people write and read on IRC: codes taken out, long lines cut. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quell::integrations::chat::irc {

/// UTF-8 without formatting codes (bold, colours, …) and control characters; what is no UTF-8 becomes U+FFFD.
std::string plain(std::string_view text);

/// A CTCP message: `\x01ACTION waves\x01`.
struct ctcp {
  std::string command; ///< upper case
  std::string_view text;
};
std::optional<ctcp> read_ctcp(std::string_view text);

/// `text` (UTF-8) in lines without line ends, each at most `most` bytes (at least 4), cut behind a blank where there is
/// one in the last half, never within a character. Line breaks end a line; blank lines are left out. Joined again, with
/// line breaks where they were, the lines are the text; a character that a line cannot hold is a blank.
std::vector<std::string> lines_of(std::string_view text, std::size_t most);

/// Bytes of text that fit a PRIVMSG to `target` as others receive it: with our prefix in front.
std::size_t room_for_text(std::string_view prefix, std::string_view target);

} // namespace quell::integrations::chat::irc
