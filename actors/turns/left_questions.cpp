// From the rows of paused calls. A row can be behind its ledger, which decides about each answer.
#include "actors/turns/left_questions.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "actors/turns/json_text.hpp"
#include "actors/turns/operation_pages.hpp"
#include "actors/turns/turn_json.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

void add_question(store_reader& store, const records::operation_record& call, question_table& into) {
  const auto open = agents_question(call.hot);
  const auto turn = open ? turn_above(store, call.parent) : std::nullopt;
  if (!turn) return;
  const auto question = json::parse(open->question_json, nullptr, false);
  if (!question.is_object() || !question.contains(json::json_pointer("/form/properties/answer"))) return;
  into.add(open->id, {call.id,
                      json_text(question.at("form")),
                      {},
                      question_source::agent,
                      call.scope,
                      turn->id,
                      call.owner.id,
                      question.value("message", std::string()),
                      is_by_chat(turn->kind_data)});
}

} // namespace

void read_left_questions(store_reader& store, question_table& into) {
  records::operation_filter f;
  f.kinds = {kind::tool_call};
  f.names = {"ask_user"};
  f.want_ended = false;
  const auto why = for_each_operation(store, std::move(f),
                                      [&](const records::operation_record& row) { add_question(store, row, into); });
  if (why) spdlog::error("open questions of agents cannot be read yet: {}", why->detail);
}

} // namespace quell::controller::turns
