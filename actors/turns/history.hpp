// Turns the stored messages of a scope into the conversation that a model receives. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/turn/turn.hpp"
#include "actors/turns/endings.hpp"
#include "actors/turns/summary.hpp"
#include "controller/records/history.hpp"
#include "protocol/conversation.hpp"

namespace quell::controller::turns {

struct model_history {
  conversation messages;             ///< oldest first; ends with the message of `turn`, or with its answer with calls
  std::vector<std::uint64_t> begins; ///< for each: the seq of the message that its exchange begins with; 0: a summary
  std::optional<conversation_summary> summary; ///< that they begin with
  // Results of the last answer of `turn`, if the conversation ends with that:
  std::vector<tool_result> known;
  std::vector<operation_id> calls;
  std::size_t own = 0;             ///< the place of the message that `turn` answers
  std::vector<operation_id> last;  ///< the calls of that answer, even if all have their results
  actors::turn_past past;          ///< the totals of the stored answers of `turn`
  std::vector<std::string> people; ///< as `speakers` tells them
};

/// `kept`: in order of seq. Messages are in the order of their turns, whatever came between them. Messages that came
/// after `turn` and discarded messages are left out. A stop and its acknowledgement keep their position. A call without
/// a result gets a result that says so. A note follows each earlier turn that did not complete or got no answer, and a
/// result says if its outcome is unknown: work that a stop ended must not read as if it were still requested.
/// The newest summary among `kept` comes first, and what it stands for is left out; behind a clear nothing comes first.
/// `gap_behind`: a note follows the messages up to this seq, because others come there that were not read; 0 = none.
model_history history_for(const std::vector<records::kept_message>& kept, const operation_id& turn,
                          const history_facts& facts = {}, std::uint64_t gap_behind = 0);

/// A person's text as a model reads it: only quell writes notes, so a text that looks like one is quoted.
std::string text_for_model(const std::string& text);
/// Puts `context` before the message of the turn that `for_model` belongs to; "" = nothing.
void put_before_message(model_history& for_model, const std::string& context);
/// The same for a note of quell's own, which stays a message of its own.
void put_note_before_message(model_history& for_model, const std::string& note);

} // namespace quell::controller::turns
