// The built-in tool `ask_user`.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

/// The form of the question, from the checked input of a call: one text, or one of `choices`.
std::string answer_form(const nlohmann::json& input);
/// The values of the answer that a person gives by a message: the choice that it names by its words or its number, else
/// the person's own words. JSON text.
std::string values_of_message(const std::string& form, const std::string& text);
/// The end of the call by this answer, with its result.
own_outcome end_by_answer(const human_answer& given);

/// `open_question`: the id of the one that an earlier life of this process asked; "" = none.
std::unique_ptr<actors::tool_work> make_ask_user_work(std::shared_ptr<turn_port> port, const operation_id& call,
                                                      const tool_definition& tool, const tool_call& what,
                                                      const std::string& open_question = {});

} // namespace quell::controller::turns
