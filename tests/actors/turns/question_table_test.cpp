// Which questions are open in a conversation.
#include <utility>

#include <catch2/catch.hpp>

#include "actors/turns/question_table.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

question_table::entry question_of(const operation_id& call, const std::string& scope,
                                  question_source who = question_source::agent, bool has_agent = true) {
  question_table::entry one{call, "{}", {}, who, *scope_path::parse(scope)};
  if (has_agent) one.answered = [](const human_answer&) {};
  return one;
}

} // namespace

TEST_CASE("what agents ask is found by its conversation, oldest first, until it is dropped", "[ask_user]") {
  question_table table;
  const auto call = operation_id::fresh(), other = operation_id::fresh();
  auto first = operation_id::fresh(), second = operation_id::fresh();
  if (second < first) std::swap(first, second); // within a millisecond chance decides
  const auto room = *scope_path::parse("team/room");
  table.add(second, question_of(call, "team/room"));
  table.add(first, question_of(call, "team/room"));
  table.add(first, question_of(call, "team/room")); // its agent is back
  table.add(other, question_of(call, "team/room/below"));
  table.add(operation_id::fresh(), question_of(call, "team/room", question_source::server));
  REQUIRE(table.open_in(room).size() == 2);
  CHECK(table.open_in(room).front().first == first);
  table.drop(first);
  table.drop(first);
  REQUIRE(table.open_in(room).size() == 1);
  CHECK(table.open_in(room).front().first == second);
  table.drop(second);
  CHECK(table.open_in(room).empty());
  CHECK(table.open_in(*scope_path::parse("team/room/below")).size() == 1);
}

TEST_CASE("a question of an earlier life goes with its call, unless its agent is back", "[ask_user]") {
  question_table table;
  const auto room = *scope_path::parse("team/room");
  for (const bool is_back : {false, true}) {
    const auto call = operation_id::fresh(), question = operation_id::fresh();
    table.add(question, question_of(call, "team/room", question_source::agent, false));
    if (is_back) table.add(question, question_of(call, "team/room"));
    table.ended(call);
    CHECK(table.find(question).has_value() == is_back);
    table.drop(question);
    CHECK(table.open_in(room).empty());
  }
}
