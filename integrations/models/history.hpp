// Reorders a conversation so that every provider accepts it, before a translator encodes it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "protocol/conversation.hpp"

namespace quell::integrations {

/// True for 1 to 64 letters, digits, `_` and `-`: tool names that both providers accept.
bool valid_name(std::string_view name);

/// The same conversation with these guarantees: it begins with the user and ends with the user or with results; user
/// and assistant alternate (neighbours of one side are joined); no message is empty (an assistant message without text
/// and calls is left out, an empty user message gets a text that says so); each assistant message with calls is
/// followed by exactly one result for each, in order (results that fit no call are left out, a missing one says that it
/// was interrupted); call ids are unique and, like names, consist of letters, digits, `_` and `-`; all text is UTF-8.
conversation orderly(const conversation& messages);

/// Hands out call ids that are unique in a conversation.
class call_ids {
 public:
  explicit call_ids(const conversation& messages);
  call_ids() = default;
  /// `wanted` itself if it is not empty, short enough and new; otherwise a generated id.
  std::string unique(const std::string& wanted);

 private:
  std::set<std::string, std::less<>> used_;
  unsigned next_ = 1;
};

} // namespace quell::integrations
