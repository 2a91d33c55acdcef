// A summary of the older part of a conversation, as a row of it: what it stands for, and what it must not lose. Pure.
//
// The row is a message of role assistant without a turn (a sub-agent's: with its id), with a client id that no client
// can choose; the rows that it stands for stay in the store. A mark of a clear is such a row without a text. The newest
// such row of a scope counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/message_order.hpp"
#include "controller/records/history.hpp"
#include "protocol/conversation.hpp"

namespace quell::controller::turns {

inline constexpr std::string_view summary_title = "summary of the conversation"; ///< of the model call

struct conversation_summary {
  std::string text; ///< by the model; "" = nothing before is read any more
  /// It stands for the exchanges that were requested up to this seq …
  std::uint64_t up_to = 0;
  /// … and for this many answers, with their results, at the beginning of this turn.
  std::optional<operation_id> turn{};
  std::uint32_t rounds = 0;
  std::uint64_t messages = 0; ///< of the conversation, that it stands for
  std::uint64_t unread = 0;   ///< of them, that the model was not shown in full: they did not fit
  // Kept by quell, not by the model:
  std::vector<std::string> cancelled{}; ///< how the cancelled requests began, oldest first
  std::uint64_t more_cancelled = 0;     ///< older ones that are only counted
  std::vector<std::string> people{};    ///< the ids of two people who wrote until then, or of the only one
  bool is_clear() const { return text.empty(); }
  friend bool operator==(const conversation_summary&, const conversation_summary&) = default;
};

/// The row; without seq and time. `sub_agent`: whose own conversation it is.
records::message_record row_of(const conversation_summary& summary, const scope_path& scope,
                               const std::optional<operation_id>& sub_agent = {});
bool is_summary(const records::message_record& m);
/// Of a row of `is_summary`.
conversation_summary summary_of(const records::message_record& m);

/// The note that a model reads in place of the messages.
std::string summary_note(const conversation_summary& summary);
bool is_summary_note(std::string_view user_text);

/// Adds the cancelled requests among these messages, each one with the note about its end.
void keep_cancelled(conversation_summary& summary, const conversation& messages);

/// The instructions of the model that writes a summary of at most about `tokens`.
std::string summary_instructions(std::size_t tokens);
/// The messages as one text, to be summarised.
std::string transcript_of(const conversation& messages);

} // namespace quell::controller::turns
