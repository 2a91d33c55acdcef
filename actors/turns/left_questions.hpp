// Questions of agents of an earlier life that still wait for people: they can be answered before the agents are back.
#pragma once

#include "actors/turns/question_table.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// Before the first message is taken.
void read_left_questions(store_reader& store, question_table& into);

} // namespace quell::controller::turns
