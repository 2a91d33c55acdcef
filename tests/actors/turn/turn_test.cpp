// Each phase of a turn, and a stop in each of them.
#include "tests/actors/turn/turn_world.hpp"

using namespace quell;
using namespace quell::testing;

TEST_CASE("a turn answers: text, calls side by side, results in call order, the next answer ends it", "[turn]") {
  turn_world w;
  w.begin();
  w.says("let me see ");
  w.calls({"slow", "fast"});
  w.finishes();
  CHECK(w.running.size() == 2);
  w.ends(2);
  CHECK(w.reported == std::vector<call_number>{2}); // the fast call's event comes first
  CHECK(w.model_call_number == 1);
  w.ends(1);
  CHECK(w.model_call_number == 2);
  w.says("done");
  w.finishes();
  REQUIRE(w.ended.size() == 1);
  CHECK_FALSE(w.ended[0].aborted);
  CHECK(w.ended[0].text == "let me see \n\ndone");
  CHECK(w.broken_rule().empty());
}

TEST_CASE("stopped before the model answers: nothing is stored", "[turn]") {
  turn_world w;
  w.begin();
  w.stop();
  CHECK(w.hung_up);
  CHECK(w.answers.empty());
  REQUIRE(w.ended.size() == 1);
  CHECK(w.ended[0].aborted == abort_reason::user);
  w.says("late"); // dropped
  w.finishes();
  CHECK(w.answers.empty());
}

TEST_CASE("stopped while it streams: the text so far is kept and marked; complete calls get their not-started result",
          "[turn]") {
  turn_world w;
  w.begin();
  w.says("I will ");
  w.calls({"slow"});
  w.stop();
  REQUIRE(w.answers.size() == 1);
  CHECK(w.answers[0].interrupted);
  CHECK(w.answers[0].text == "I will ");
  CHECK(w.result(1).result == "\"not started\"");
  CHECK(w.result(1).cancelled);
  CHECK(w.broken_rule().empty());
}

TEST_CASE("stopped while calls run: finished ones are kept, running ones are cancelled at once, others did not start",
          "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"fast", "slow", "exec", "slow"});
  w.finishes();
  w.ends(1);
  w.stop();
  CHECK(w.result(1).ok);
  CHECK(w.result(2).result == "\"cancelled\"");
  CHECK(w.result(3).result == "\"not started\"");
  CHECK(w.result(4).result == "\"not started\"");
  CHECK(w.stopped == std::vector<call_number>{2});
  w.ends(2); // late: dropped
  CHECK(w.result(2).result == "\"cancelled\"");
  CHECK(w.model_call_number == 1);
  CHECK(w.broken_rule().empty());
}

TEST_CASE("stopped while a human is asked: the call did not start", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"danger"});
  w.finishes();
  CHECK(w.it().phase() == turn_phase::waiting);
  w.stop();
  CHECK(w.result(1).result == "\"not started\"");
  w.decide(1, true); // too late
  CHECK(w.running.empty());
}

TEST_CASE("a human approves or denies; what needs nobody's word does not wait for it", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"danger", "fast", "danger"});
  w.finishes();
  CHECK(w.running.size() == 1);
  CHECK(w.asking == std::vector<call_number>{1, 3});
  w.ends(2);
  CHECK(w.it().phase() == turn_phase::waiting);
  w.decide(3, false);
  CHECK(w.result(3).result == "\"denied no\"");
  w.decide(1, true);
  CHECK(w.running.size() == 1);
  w.ends(1);
  CHECK(w.model_call_number == 2);
}

TEST_CASE("a call about which nobody decides in time does not run, and no person is blamed", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"danger", "danger"});
  w.finishes();
  w.decide(2, approval_outcome::undecided);
  CHECK(w.result(2).result == "\"undecided no\"");
  w.decide(2, true); // too late
  w.decide(1, approval_outcome::denied);
  CHECK(w.running.empty());
  CHECK(w.result(1).result == "\"denied no\"");
  CHECK(w.model_call_number == 2);
}

TEST_CASE("a call that runs says so after 5 s and every 5 s, until it has its result or waits for a human", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"slow", "fast"});
  w.finishes();
  w.pass(4s);
  CHECK(w.progress.empty());
  w.ends(2);
  w.pass(1s);
  CHECK(w.progress == std::vector<std::pair<call_number, milliseconds>>{{1, 5s}});
  w.pass(11s); // one late tick
  CHECK(w.progress.size() == 2);
  CHECK(w.progress.back() == std::pair<call_number, milliseconds>{1, 16s});
  w.waits(1, human_wait::begins);
  w.pass(100s);
  CHECK(w.progress.size() == 2);
  w.waits(1, human_wait::ends);
  w.pass(5s);
  CHECK(w.progress.size() == 3);
  w.ends(1);
  w.pass(100s);
  CHECK(w.progress.size() == 3);
  CHECK(w.broken_rule().empty());
}

TEST_CASE("the time that a human takes is not the call's", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"slow", "fast"});
  w.finishes();
  w.pass(100s);
  w.waits(1, human_wait::begins);
  w.waits(1, human_wait::begins); // a repeat
  CHECK(w.it().next_tick());      // the tick of the other call
  w.ends(2);
  CHECK_FALSE(w.it().next_tick());
  w.pass(10'000s);
  CHECK(w.stopped.empty());
  w.waits(1, human_wait::ends);
  w.waits(1, human_wait::ends);
  w.pass(19s);
  CHECK(w.stopped.empty());
  w.pass(1s);
  CHECK(w.result(1).result == "\"timeout slow\"");
  CHECK(w.stopped == std::vector<call_number>{1});
  w.waits(1, human_wait::begins); // late: the call has its result
  w.waits(7, human_wait::begins); // no such call
  CHECK(w.broken_rule().empty());
}

TEST_CASE("a call that times out is answered and told to stop; the turn goes on; its end is dropped", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"slow", "fast"});
  w.finishes();
  w.ends(2);
  w.pass(121s);
  CHECK(w.result(1).result == "\"timeout slow\"");
  CHECK(w.stopped == std::vector<call_number>{1});
  CHECK(w.model_call_number == 2);
  w.ends(1);
  CHECK(w.result(1).result == "\"timeout slow\"");
}

TEST_CASE("an exclusive call waits for the end of one that timed out, but not for ever", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"slow"});
  w.finishes();
  w.pass(121s);
  w.calls({"exec", "fast"});
  w.finishes();
  CHECK(w.running.size() == 1); // only the slow one, which does not die
  w.pass(13s);
  CHECK(w.result(2).result == "\"workspace_busy\"");
  CHECK(w.running.count(3) == 1);
  w.ends(3);
  w.ends(1);
  w.calls({"exec"});
  w.finishes();
  CHECK(w.running.count(4) == 1);
}

TEST_CASE("an unknown tool fails its call, not the turn; the same call again and again ends the turn", "[turn]") {
  turn_world w;
  w.begin();
  for (call_number n = 1; n <= 4; ++n) {
    w.calls({"nothing"});
    w.finishes();
    // From the third on, the model is warned beside the result.
    const auto result = w.result(n).result;
    CHECK_THAT(result, Catch::StartsWith("\"unknown_tool\""));
    CHECK((result.find("made " + std::to_string(n) + " times") != std::string::npos) == (n >= 3));
  }
  CHECK(w.ended.empty());
  w.calls({"nothing"});
  w.finishes();
  REQUIRE(w.ended.size() == 1);
  CHECK(w.ended[0].aborted == abort_reason::error);
  CHECK(w.broken_rule().empty());
}

TEST_CASE("a model that breaks off fails the turn and leaves a valid conversation", "[turn]") {
  turn_world w;
  w.begin();
  w.says("half");
  w.breaks();
  REQUIRE(w.ended.size() == 1);
  CHECK(w.ended[0].error->code == "model_broken");
  CHECK(w.answers.at(0).interrupted);
}

TEST_CASE("a model that never ends is cut", "[turn]") {
  turn_world w({.answer_bytes = 100});
  w.begin();
  for (int i = 0; i < 30 && w.ended.empty(); ++i) w.says("0123456789");
  REQUIRE(w.ended.size() == 1);
  CHECK(w.hung_up);
  CHECK(w.answers.at(0).interrupted);
}

TEST_CASE("after a restart a turn that waited for a human goes on where it was", "[turn]") {
  plain_texts texts;
  turn t({}, traits_of, texts);
  assistant_message answer{"", {{"a", "fast", "{}"}, {"b", "danger", "{}"}}, false};
  auto effects = t.resume({user_message{"x"}, answer}, {{"a", "fast", true, false, "1"}}, {}, boot_time{5});
  REQUIRE(effects.size() == 1);
  CHECK(std::get<turn_effects::ask_human>(effects[0]).number == 2);
  CHECK(t.phase() == turn_phase::waiting);
  effects = t.human_decided(2, approval_outcome::approved, "", boot_time{6});
  CHECK(std::holds_alternative<turn_effects::run_tool>(effects.at(0)));
  effects = t.tool_ended(2, true, "2", boot_time{7});
  const auto& ask = std::get<turn_effects::ask_model>(effects.back());
  CHECK(std::get<tool_results>(ask.messages.back()).results.size() == 2);
}

TEST_CASE("what is told adds up to the whole text, with a gap between two answers", "[turn]") {
  turn_world w;
  w.begin();
  w.says("Fir");
  w.says("st: ä");
  w.calls({"fast"});
  w.finishes();
  w.ends(1);
  w.calls({"fast"}); // an answer without words makes no gap
  w.finishes();
  w.ends(2);
  w.says("Second");
  w.finishes();
  REQUIRE(w.ended.size() == 1);
  CHECK(w.ended[0].text == "First: ä\n\nSecond");
  CHECK(w.reported_text == w.ended[0].text);
  CHECK(w.answers.back().text == "Second");
}

TEST_CASE("as many calls in one answer as the model clients let through, and no more", "[turn]") {
  turn_world w({.repetition = {.warned = 0, .ended = 1000, .within = 1000}});
  w.begin();
  w.calls(std::vector<std::string>(128, "fast"));
  w.finishes();
  CHECK(w.running.size() == 128);
  CHECK(w.ended.empty());

  turn_world more({.repetition = {.warned = 0, .ended = 1000, .within = 1000}});
  more.begin();
  more.calls(std::vector<std::string>(129, "fast"));
  more.finishes();
  REQUIRE(more.ended.size() == 1);
  REQUIRE(more.ended[0].error);
  CHECK(more.ended[0].error->code == "too_many_calls");
}

TEST_CASE("after a restart offsets, text, usage and budget go on from what was before", "[turn]") {
  plain_texts texts;
  turn t({.model_calls = 3}, traits_of, texts);
  const assistant_message answer{"ä", {{"b", "danger", "{}"}}, false};
  t.resume({user_message{"x"}, answer}, {}, {"ä", {10, 5, 1}, 2, 4}, boot_time{5});
  t.human_decided(1, approval_outcome::approved, "", boot_time{6});
  auto effects = t.tool_ended(1, true, "2", boot_time{7});
  const auto model_call_number = std::get<turn_effects::ask_model>(effects.back()).number;
  CHECK(model_call_number == 3);
  effects = t.on_model_event(model_call_number, model_events::text{"b"}, boot_time{8});
  const auto& text_effect = std::get<turn_effects::say_text>(effects.at(0));
  CHECK(text_effect.offset == 1);
  CHECK(text_effect.text == "\n\nb");
  effects =
      t.on_model_event(model_call_number, model_events::finished{model_events::stop::end, {1, 2, 3}}, boot_time{9});
  const auto& end = std::get<turn_effects::end>(effects.back());
  CHECK(end.text == "ä\n\nb");
  CHECK(end.usage == model_usage{11, 7, 4});
  CHECK(t.tool_calls() == 4);
}

TEST_CASE("thinking is told apart from the answer, and its sealed blocks go back with the results", "[turn]") {
  turn_world w;
  w.begin();
  w.hears(model_events::thinking{"Hm, "});
  w.hears(model_events::thinking{"läßt sich machen."});
  w.hears(model_events::thought{{"m", "{\"sealed\":1}"}});
  w.says("I look.");
  w.calls({"fast"});
  w.finishes();
  CHECK(w.thinking == "Hm, läßt sich machen.");
  CHECK(w.reported_text == "I look.");
  w.ends(1);
  const auto& back = std::get<assistant_message>(w.sent.at(w.sent.size() - 2));
  CHECK(back.thinking == std::vector<thinking_block>{{"m", "{\"sealed\":1}"}});
  w.hears(model_events::thinking{"Good."}); // offsets go on
  w.says("Done.");
  w.finishes();
  CHECK(w.ended.at(0).text == "I look.\n\nDone.");
}

TEST_CASE("what a failed attempt thought is not sent back; waits and other attempts are told", "[turn]") {
  turn_world w;
  w.begin();
  w.hears(model_events::queued{"m", 2});
  w.hears(model_events::admitted{"m", 5ms});
  w.hears(model_events::thinking{"lost"});
  w.hears(model_events::thought{{"m", "{}"}});
  w.hears(model_events::retrying{2, 5ms, "cut", "model_cut", "m"});
  w.hears(model_events::fell_back{"m", "n", {"model_overloaded", "full", {}}});
  w.calls({"fast"});
  w.finishes();
  CHECK(w.notes.size() == 4);
  w.ends(1);
  CHECK(std::get<assistant_message>(w.sent.at(w.sent.size() - 2)).thinking.empty());
}

TEST_CASE("a stop while the model thinks, waits or is asked again ends the turn with nothing stored", "[turn]") {
  const std::vector<std::vector<model_event>> before{
      {model_events::thinking{"hm"}},
      {model_events::queued{"m", 0}},
      {model_events::retrying{2, 60s, "busy", "model_overloaded", "m"}},
      {model_events::thinking{"hm"}, model_events::retrying{2, 60s, "cut", "model_cut", "m"}},
      {model_events::fell_back{"m", "n", {"model_overloaded", "full", {}}}}};
  for (const auto& events : before) {
    turn_world w;
    w.begin();
    for (const auto& one : events) w.hears(one);
    w.stop();
    CHECK(w.hung_up);
    REQUIRE(w.ended.size() == 1);
    CHECK(w.ended[0].aborted == abort_reason::user);
    CHECK(w.answers.empty());
    w.hears(model_events::text{"late"}); // dropped
  }
}

TEST_CASE("a message that steers is read by the model that is asked now, and by all later ones", "[turn]") {
  turn_world w;
  w.begin();
  w.calls({"fast"});
  w.finishes();
  w.ends(1);
  w.steer("in French"); // stored with the second model call
  w.calls({"fast"});
  w.finishes();
  w.ends(2);
  REQUIRE(w.model_call_number == 3);
  REQUIRE(w.sent.size() == 6); // request, answer, results, what steers, answer, results
  const auto* steering = std::get_if<user_message>(&w.sent.at(3));
  REQUIRE(steering);
  CHECK(steering->text == "in French");
  CHECK(steering->steers);
  CHECK(w.broken_rule().empty());
}
