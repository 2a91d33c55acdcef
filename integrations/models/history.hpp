// A conversation brought into the order that every provider accepts, before it is put into a provider's words.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "protocol/conversation.hpp"

namespace quell::integrations {

/// True for 1 to 64 of letters, digits, `_` and `-`: what both providers accept as the name of a tool.
bool valid_name(std::string_view name);

/// The same conversation so that: it begins with the user and ends with the user or with results; users and the
/// assistant alternate (neighbours of one side are joined); nothing is empty (an assistant message without text and
/// calls is left out, an empty user message says so); each assistant message with calls is followed by exactly one
/// result for each, in order (results that fit no call are left out, a missing one says that it was interrupted); call
/// ids are unique and, like names, of letters, digits, `_` and `-`; all text is UTF-8.
conversation orderly(const conversation& said);

/// Hands out call ids that are unique in a conversation.
class call_ids {
 public:
  explicit call_ids(const conversation& said);
  call_ids() = default;
  /// `wanted` itself if it is not empty, short enough and new; or else one of our own.
  std::string unique(const std::string& wanted);

 private:
  std::set<std::string, std::less<>> used_;
  unsigned next_ = 1;
};

} // namespace quell::integrations
