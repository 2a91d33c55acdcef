// The addressee of a line in a room, and words that answer a question. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quell::integrations::chat {

struct address_split {
  bool is_addressed = false;
  bool answers_others = false; ///< a reply to another person, as far as the service tells
  std::string_view text;       ///< without the address and the spaces around it
};

/// `clanky: stop`, `Clanky, stop` and `@clanky stop` are addressed to `clanky`; `clanky stop` is not, because it can be
/// talk about it. A name alone (`clanky?`) is addressed and keeps its text. ASCII letters compare without case.
address_split without_address(std::string_view text, const std::vector<std::string>& names);

/// The text behind the bot's name or mention at the front of a message: `, stop` and `: stop` are `stop`.
std::string_view behind_name(std::string_view rest);

/// `approve 5d0f3e1a`, `deny 5d0f3e1a`: the word and the tail of a call's id, 4 to 36 hex digits and `-`.
struct approval_text {
  bool approved = false;
  std::string tail; ///< lower case
};
std::optional<approval_text> read_approval(std::string_view text);

} // namespace quell::integrations::chat
