// Which part of a conversation gives way to a summary, and the conversation with the summary in its place. Pure.
//
// The newest exchanges stay as they are; so does the message of the turn itself, and the newest round of its calls. A
// turn that has outgrown the context by itself gives its oldest rounds away, too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/turns/summary.hpp"
#include "protocol/conversation.hpp"

namespace quell::controller::turns {

/// A conversation with what its rows say about it.
struct placed_conversation {
  conversation messages;
  /// For the first of them: the seq of the message that each one's exchange begins with; 0: of a summary. The others
  /// are of the turn itself.
  std::vector<std::uint64_t> begins;
  std::optional<conversation_summary> before; ///< that the conversation begins with
  std::optional<operation_id> turn;           ///< whose message is the last one of a person; none: nobody answers now
  std::vector<std::string> people{};          ///< who write in it, as `speakers` tells them
};

struct compaction {
  conversation to_read;           ///< by the model that summarises; fits
  conversation_summary summary;   ///< all but the text
  std::size_t rest = 0;           ///< the first message that stays
  std::optional<std::size_t> own; ///< the turn's own message, which stays although it is before `rest`
};

/// Chooses the messages to replace so that about half of `room` is used; nullopt: a summary could stand for none.
/// `reading_room`: of the model that summarises. All in tokens.
std::optional<compaction> plan_compaction(const placed_conversation& all, std::size_t room, std::size_t reading_room);

/// The conversation with `summary`, which is that of the plan with its text.
placed_conversation compacted(const placed_conversation& all, const compaction& plan, conversation_summary summary);

} // namespace quell::controller::turns
