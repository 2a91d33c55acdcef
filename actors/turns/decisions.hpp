// Applies a human's decision about a call (whether it may begin), or a human's answer to its question. Any thread.
#pragma once

#include <memory>
#include <string>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/approvers.hpp"
#include "controller/open_questions.hpp"

namespace quell::controller::turns {

/// See the methods of the same names in `turn_scheduler` (`answer` for a question).
void decide_call(const std::shared_ptr<agent_runtime>& runtime, operation_id call, decision d,
                 reply<outcome<operation_id>> done);
void answer_question(const std::shared_ptr<agent_runtime>& runtime, operation_id call, human_answer given,
                     reply<outcome<operation_id>> done);
/// It is durable that this answer counts: its call goes on.
void tell_answered(agent_runtime& runtime, const operation_id& call, const human_answer& given);
void decide_in_chat(const std::shared_ptr<agent_runtime>& runtime, operation_id call, decision d, chat_approver who,
                    reply<outcome<operation_id>> done);

} // namespace quell::controller::turns
