// Makes a conversation fit into a model's context, and says in the conversation what was left out. Pure.
//
// Nothing goes without a word: a trimmed result says how long it was, and one note stands for all messages left out,
// with the beginning of each request and answer and with what quell had noted about it (such as a cancel).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "protocol/conversation.hpp"

namespace quell::controller::turns {

/// An estimate that is rather too high: about 3.5 bytes of ASCII to a token, and one token for every other character.
std::size_t estimated_tokens(std::string_view text);
/// Of all texts, inputs, results and files, and a few for each message.
std::size_t estimated_tokens(const conversation& messages);

/// The same for one message.
std::size_t tokens_of(const conversation_entry& entry);

/// The lists of files in it, of those that have any.
std::vector<attachments*> files_of(conversation_entry& entry);

/// True for a message of a person; false for a note of quell's.
bool begins_exchange(const conversation_entry& entry);
/// Where the newest exchange begins: at the last message of a person.
std::size_t own_begin(const conversation& all);

struct fitted_conversation {
  conversation messages;
  std::size_t trimmed_results = 0;
  std::size_t trimmed_files = 0; ///< images and documents that became a line of text
  std::size_t left_out = 0;      ///< messages
  std::size_t tokens = 0;        ///< estimated, of `messages`
  bool fits = true;              ///< false: even the turn's own messages are too long
};

/// `messages` in at most `tokens`, as far as that is possible. A summary at their beginning stays. First the images
/// and documents of older exchanges become lines of text, then old results are trimmed, then the oldest exchanges give
/// way to a note, then the results of the turn's own earlier rounds are trimmed, then those of its newest, and at last
/// its own images and documents. The last message of a person and everything after it always stay, each call with its
/// result.
fitted_conversation fit_into(conversation messages, std::size_t tokens);

} // namespace quell::controller::turns
