// A turn that goes on after a restart, in each place where the restart can have met it.
#include "tests/actors/turn/turn_world.hpp"

using namespace quell;
using namespace quell::testing;

namespace {

const plain_texts texts;

assistant_message answer_with(const std::string& id) { return {"", {{id, "exec", "{}"}}, false}; }

/// Rounds of the same call with these results, each result as it was stored.
conversation rounds(const std::vector<std::string>& results) {
  conversation so_far{user_message{"x"}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto id = "c" + std::to_string(i);
    so_far.emplace_back(answer_with(id));
    so_far.emplace_back(tool_results{{{id, "exec", true, false, results[i]}}});
  }
  return so_far;
}

} // namespace

TEST_CASE("a restart met the model: it is asked again, and the text goes on behind what was shown", "[turn]") {
  turn t({}, traits_of, texts);
  turn_past past;
  past.text = "one two";
  past.unsaid = " two";
  past.model_calls = 1;
  const auto effects = t.resume(rounds({"1"}), {}, past, boot_time{5});
  REQUIRE(effects.size() == 2);
  CHECK(std::get<turn_effects::say_text>(effects[0]).offset == 3);
  CHECK(std::get<turn_effects::say_text>(effects[0]).text == " two");
  CHECK(std::get<turn_effects::ask_model>(effects[1]).number == 2);
}

TEST_CASE("a restart met a running call: its work goes on, and its start is not told again", "[turn]") {
  turn t({}, traits_of, texts);
  turn_past past;
  past.met.push_back({"c", met_call::state::runs, boot_time{1}, true});
  auto effects = t.resume({user_message{"x"}, answer_with("c")}, {}, past, boot_time{5});
  REQUIRE(effects.size() == 1);
  CHECK(std::get<turn_effects::run_tool>(effects[0]).number == 1);
  effects = t.tool_ended(1, true, "2", boot_time{7});
  CHECK(std::holds_alternative<turn_effects::ask_model>(effects.back()));
}

TEST_CASE("a restart met the end: the last answer completes the turn", "[turn]") {
  turn t({}, traits_of, texts);
  turn_past past;
  past.text = "done";
  const auto effects = t.resume({user_message{"x"}, assistant_message{"done", {}, false}}, {}, past, boot_time{5});
  REQUIRE(effects.size() == 1);
  const auto& end = std::get<turn_effects::end>(effects[0]);
  CHECK_FALSE(end.aborted);
  CHECK(end.text == "done");
}

TEST_CASE("a restart met a turn that was failing: it ends, and its calls have results", "[turn]") {
  turn t({}, traits_of, texts);
  turn_past past;
  past.was_cut = true;
  const auto effects = t.resume({user_message{"x"}, answer_with("c")}, {}, past, boot_time{5});
  CHECK(std::get<turn_effects::store_result>(effects.at(0)).number == 1);
  CHECK(std::get<turn_effects::end>(effects.back()).aborted == abort_reason::interrupted);
}

TEST_CASE("calls that repeat themselves are counted over a restart, those with the warning, too", "[turn]") {
  const auto warned = texts.noted("1", std::string(repetition_guard::warning_begin) + "3 times");
  for (const std::size_t before : {3U, 4U}) {
    CAPTURE(before);
    turn t({}, traits_of, texts);
    auto so_far = rounds({"1", "1", warned, warned});
    so_far.resize(1 + 2 * before);
    so_far.emplace_back(answer_with("last"));
    const auto effects = t.resume(std::move(so_far), {}, {}, boot_time{5});
    const auto* end = std::get_if<turn_effects::end>(&effects.back());
    CHECK((end != nullptr) == (before == 4));
    if (end != nullptr) CHECK(end->error->code == "repetition");
  }
}
