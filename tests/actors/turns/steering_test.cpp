// Messages that steered a turn, as the stored conversation shows them to a model.
#include <catch2/catch.hpp>

#include "actors/turns/context_fit.hpp"
#include "actors/turns/history.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/request_files.hpp"
#include "actors/turns/steering.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

struct stored {
  std::vector<records::kept_message> all;
  std::uint64_t seq = 0;

  records::message_record& add(records::message_role role, const operation_id& turn, const std::string& text) {
    records::message_record m;
    m.id = message_id::fresh();
    m.seq = ++seq;
    m.role = role;
    m.turn = turn;
    m.text = text;
    all.push_back({m, {}});
    return all.back().message;
  }
  void user(const operation_id& turn, const std::string& text) { add(records::message_role::user, turn, text); }
  void steers(const operation_id& turn, const std::string& text) {
    add(records::message_role::user, turn, text).decision = R"({"steered_from":"x"})";
  }
  void round(const operation_id& turn, const std::string& text) {
    add(records::message_role::assistant, turn, text);
    records::call_record call;
    call.operation = operation_id::fresh();
    call.call = "c" + std::to_string(seq);
    call.name = "list";
    call.outcome = records::call_outcome{true, false, "{}"};
    all.back().calls.push_back(call);
    add(records::message_role::tool, turn, "");
    all.back().calls.push_back(call);
  }
};

std::vector<std::string> texts_of(const conversation& all) {
  std::vector<std::string> texts;
  for (const auto& entry : all) {
    if (const auto* message = std::get_if<user_message>(&entry)) texts.push_back(message->text);
    if (const auto* message = std::get_if<assistant_message>(&entry)) texts.push_back(message->text);
    if (std::holds_alternative<tool_results>(entry)) texts.emplace_back("results");
  }
  return texts;
}

} // namespace

TEST_CASE("what steered a turn stands where its model read it, and the turn keeps its own message", "[steering]") {
  const auto turn = operation_id::fresh();
  stored s;
  s.user(turn, "list it");
  s.round(turn, "I look");
  s.steers(turn, "in French");
  auto for_model = history_for(s.all, turn);
  CHECK(texts_of(for_model.messages) == std::vector<std::string>{"list it", "I look", "results", "in French"});
  CHECK(std::get<user_message>(for_model.messages.back()).steers);
  put_before_message(for_model, "context");
  CHECK(std::get<user_message>(for_model.messages.front()).text == "context\n\nlist it");
  CHECK(own_begin(for_model.messages) == 0); // a compaction keeps the request, not what steered it
}

TEST_CASE("what steered a turn keeps its files, and they stay with the turn's own", "[steering]") {
  const auto turn = operation_id::fresh();
  stored s;
  s.user(turn, "list it");
  s.round(turn, "I look");
  const attachments files{{"b1", "cat.png", "image/png", 5}};
  s.add(records::message_role::user, turn, "").decision = decision_with_files(R"({"steered_from":"x"})", files);
  CHECK(is_steering(s.all.back().message));
  auto messages = history_for(s.all, turn).messages;
  REQUIRE(std::get<user_message>(messages.back()).steers);
  CHECK(std::get<user_message>(messages.back()).files == files);
  CHECK(leave_out_old_files(messages, "refused") == 0); // the model was just told
  messages.emplace_back(user_message{"thanks"});
  CHECK(leave_out_old_files(messages, "refused") == 1);
}

TEST_CASE("what steered a turn goes with it when a summary stands for it", "[steering]") {
  const auto old = operation_id::fresh(), turn = operation_id::fresh();
  stored s;
  s.steers(old, "in French"); // the beginning of its turn was not read
  s.user(turn, "hello");
  CHECK(texts_of(history_for(s.all, turn).messages) == std::vector<std::string>{"hello"});
}

TEST_CASE("waiting messages are told together, a bounded number at once, oldest first", "[steering]") {
  steering_table table;
  const auto turn = operation_id::fresh();
  std::vector<operation_id> waiting;
  for (std::size_t i = 0; i < steering_table::most_at_once + 4; ++i)
    table.add(turn, waiting.emplace_back(operation_id::fresh()));
  const auto first = table.of(turn);
  REQUIRE(first.size() == steering_table::most_at_once);
  CHECK(std::equal(first.begin(), first.end(), waiting.begin()));
  for (const auto& id : first) table.over(id);
  CHECK(table.of(turn).size() == 4);
  for (const auto& id : waiting) table.over(id); // also twice
  CHECK(table.empty());
  CHECK(table.of(turn).empty());
}

TEST_CASE("the block of a turn says which one its message steers", "[steering]") {
  const auto turn = operation_id::fresh();
  for (const char* block : {R"({"agent":"main"})", "{}", ""}) CHECK(steered_by(with_steered(block, turn)) == turn);
  CHECK_FALSE(steered_by(R"({"agent":"main"})"));
  CHECK_FALSE(steered_by(R"({"steers":"nobody"})"));
  CHECK_FALSE(steered_by("not json"));
}

TEST_CASE("what a turn did not take is told to the first of it that begins", "[steering]") {
  using ids = std::vector<operation_id>;
  steering_table table;
  const auto turn = operation_id::fresh(), other = operation_id::fresh();
  const ids waiting{operation_id::fresh(), operation_id::fresh(), operation_id::fresh(), operation_id::fresh()};
  for (const auto& one : waiting) table.add(turn, one);
  CHECK(table.of(turn) == waiting);
  table.over(waiting[0]); // told
  table.over(turn);       // the others wait on
  CHECK_FALSE(table.begins(other));
  CHECK(table.begins(waiting[1]) == turn);
  CHECK(table.of(turn).empty());
  CHECK(table.of(waiting[1]) == ids{waiting[2], waiting[3]});
  table.over(waiting[1]);
  CHECK(table.begins(waiting[2]) == waiting[1]); // whose cancel it would share
  CHECK(table.of(waiting[2]) == ids{waiting[3]});
  table.over(waiting[3]); // stopped while it waited
  table.over(waiting[2]);
  CHECK(table.empty());
}
