// From the stored messages of a scope to the conversation that a model is shown. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "actors/turn/turn.hpp"
#include "controller/turns/endings.hpp"
#include "protocol/conversation.hpp"
#include "storage/history.hpp"

namespace quell::controller::turns {

struct history_limits {
  std::uint32_t messages = 400; ///< read from the store
  std::size_t bytes = 1 << 20;  ///< of texts, inputs and results shown to the model; older turns are left out
};

struct told_history {
  conversation messages; ///< oldest first; ends with the message, or the answer with calls, of `turn`
  // Of the last answer of `turn`, if that is what it ends with:
  std::vector<tool_result> known;
  std::vector<operation_id> calls;
  std::vector<operation_id> last; ///< the calls of that answer, also when all have their results
  actors::turn_past past;         ///< what the stored answers of `turn` amount to
};

/// `kept`: in order of seq. Messages stand in the order of their turns, whatever came between them; what came after
/// `turn` is left out, as are discarded messages. A stop and the word that acknowledged it stand where they were said.
/// A call without a result gets one that says so. Behind each earlier turn that did not complete, or got no answer, a
/// note says so, and a result says when its outcome is unknown: nothing that a stop ended reads as if it were still
/// asked for.
told_history history_for(const std::vector<storage::kept_message>& kept, const operation_id& turn,
                         const history_facts& facts = {}, const history_limits& limits = {});

/// Before the message of the turn that `told` is for; "" = nothing.
void put_before_message(told_history& told, const std::string& context);

} // namespace quell::controller::turns
