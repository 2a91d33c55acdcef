// Effects of a cancel: contexts, cancels from elsewhere, spoken stops, and connections that end.
#include <catch2/catch.hpp>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;
using namespace std::string_literals;

namespace {

/// Brings the exchange to the first chunk of the answer.
void in_speech_of(world& w) {
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk();
}

/// The next prompt begins with the cancel context, and the one behind its answer does not.
void expect_context_once(world& w) {
  w.speak("two");
  CHECK(w.brain_asks.back().context == cancel_context);
  CHECK(w.brain_asks.back().text == "two");
  w.answer("Two.");
  w.end_speech();
  w.speak("three");
  CHECK(w.brain_asks.back().context.empty());
}

} // namespace

TEST_CASE("the cancel context stands once before the next prompt", "[voice]") {
  world w;
  w.speak("one");
  w.cancel_key();
  expect_context_once(w);
}

TEST_CASE("the cancel context survives a failed query", "[voice]") {
  world w;
  w.speak("one");
  w.cancel_key();
  w.speak("two");
  w.fail();
  w.end_speech();
  w.speak("three");
  CHECK(w.brain_asks.back().context == cancel_context);
}

TEST_CASE("the cancel context beats and clears the retry context", "[voice]") {
  world w(brain_side::manner::asks);
  w.speak("one");
  w.answer("One?");
  w.press('2');
  w.speak("won");
  CHECK(w.brain_asks.back().context == retry_context);
  w.answer("Won?");
  w.press('2');
  w.speak("once");
  w.cancel_key();
  w.speak("two");
  CHECK(w.brain_asks.back().context == cancel_context);
  w.answer("Two?");
  w.press('1');
  w.end_speech();
  w.speak("three");
  CHECK(w.brain_asks.back().context.empty());
}

TEST_CASE("a cancel of the first words sets the context, before the brain was asked of them", "[voice]") {
  const bool are_final = GENERATE(false, true); // and not judged yet
  const int door = GENERATE(0, 1, 2);
  world w;
  w.judges_at_once = false;
  w.client.begin_talking();
  w.client.microphone(std::string(320, 'u'));
  w.run(); // the recogniser has the sound before it reports it
  w.recognise("tell me", are_final);
  REQUIRE(w.exchanges.size() == 1);
  if (door == 0) w.cancel_key();
  if (door == 1)
    for (int i = 0; i < 2; ++i) w.gateway.on_client_message({tag::cancel, {}});
  if (door == 2) w.stop_elsewhere(1);
  w.run();
  CHECK(w.exchanges[1] == ended::cancelled);
  CHECK(w.count(w.to_brain, tag::brain_cancel) == (door == 1 ? 2U : 1U));
  if (!are_final) w.recognise("tell me a story", true); // the recogniser finishes what it had begun
  CHECK(w.brain_asks.empty());
  w.judges_at_once = true;
  expect_context_once(w);
}

TEST_CASE("the context of cancelled first words survives a failed query, and an answer uses it up", "[voice]") {
  world w(brain_side::manner::asks);
  w.recognise("one", false);
  w.stop_elsewhere(1);
  w.recognise("one more", true);
  w.speak("two");
  CHECK(w.brain_asks.back().context == cancel_context);
  w.fail();
  w.end_speech();
  w.speak("three");
  CHECK(w.brain_asks.back().context == cancel_context);
  w.answer("Three?");
  w.press('2');
  w.speak("tree");
  CHECK(w.brain_asks.back().context == retry_context);
}

TEST_CASE("a cancel behind first words that came to nothing sets the context, one before any words does not",
          "[voice]") {
  const bool are_words = GENERATE(false, true);
  world w;
  if (are_words) w.recognise("hm", false);
  w.recognise("", true);
  CHECK(w.exchanges.size() == (are_words ? 1U : 0U));
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  w.speak("one");
  CHECK(w.brain_asks.back().context == (are_words ? cancel_context : ""));
}

TEST_CASE("first words that stop other work are not cancelled themselves", "[voice]") {
  world w;
  w.judges_at_once = false;
  w.speak("stop");
  w.exchanges[1] = ended::completed; // decided by the rules for messages
  w.gateway.on_verdict(1, verdict::stops);
  w.run();
  w.judges_at_once = true;
  w.speak("one");
  CHECK(w.brain_asks.back().context.empty());
}

TEST_CASE("a cancel through another door silences, tells the brain and sets the context", "[voice]") {
  world w;
  in_speech_of(w);
  w.stop_elsewhere(1);
  CHECK(w.speaker.empty());
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 1);
  CHECK(w.count(w.received, tag::speech_end) == 1);
  CHECK(w.shown.back() == stopped_notice);
  w.speak("next");
  CHECK(w.brain_asks.back().context == cancel_context);
}

TEST_CASE("what is cancelled elsewhere while another is asked leaves that one alone", "[voice]") {
  world w;
  w.speak("one");
  w.recognise("two", true);
  w.stop_elsewhere(2);
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 0);
  w.answer("One.");
  CHECK(w.speeches.size() == 1);
}

TEST_CASE("words that stop are not asked, and how it went is spoken", "[voice]") {
  world w;
  w.judges_at_once = false;
  in_speech_of(w);
  w.recognise("stop", true);
  REQUIRE(w.judging.size() == 2);
  w.gateway.on_verdict(w.judging[0].n, verdict::passes);
  w.run();
  w.answer("Once upon a time.");
  w.chunk();
  w.exchanges[w.judging[1].n] = ended::completed; // decided by the rules for messages
  w.gateway.on_verdict(w.judging[1].n, verdict::stops);
  w.stop_elsewhere(w.judging[0].n);
  CHECK(w.speaker.empty());
  CHECK(w.count(w.to_brain, tag::transcript) == 1);
  w.say("Stopped the story.");
  w.chunk("DDDD");
  CHECK(w.speaker == "DDDD");
}

TEST_CASE("a client that leaves cancels at the brain and leaves its exchanges", "[voice]") {
  world w;
  in_speech_of(w);
  w.gateway.client_gone();
  w.run();
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 1);
  CHECK(w.exchanges[1] == ended::left);
  CHECK(w.speeches.empty());
}

TEST_CASE("a brain that leaves fails the exchange and ends the client", "[voice]") {
  world w;
  in_speech_of(w);
  w.gateway.brain_gone("it crashed");
  w.run();
  CHECK(w.exchanges[1] == ended::failed);
  CHECK(w.refusal.find("no_brain") != std::string::npos);
  CHECK(w.is_closed);
  CHECK(w.count(w.received, tag::speech_end) == 1);
}

TEST_CASE("a late hello ends the client with an error", "[voice]") {
  world w;
  w.gateway.on_client_message({tag::hello, "{}"});
  w.run();
  CHECK(w.refusal.find("bad_order") != std::string::npos);
  CHECK(w.is_closed);
}

TEST_CASE("the summary leaves out what was cancelled", "[voice]") {
  world w;
  w.speak("one");
  w.answer("First.");
  w.end_speech();
  w.speak("two");
  w.answer("Second.");
  w.chunk();
  w.end_speech();
  w.played();
  w.cancel_key();
  w.gateway.on_client_message({tag::summary_request, {}});
  w.run();
  CHECK(w.received.back() == frame{tag::summary, "You: one\nAI: First.\n"});
}

TEST_CASE("a cancel covers an exchange that was spoken over until its end is durable", "[voice]") {
  world w;
  w.fences_at_once = w.ends_at_once = false;
  in_speech_of(w);
  w.client.begin_talking();
  w.client.microphone(std::string(320, 'u'));
  w.run();
  CHECK(w.exchanges[1] == ended::completed);
  w.cancel_key();
  CHECK(w.count(w.received, tag::notice) == 0);
  w.fence();
  CHECK(w.received.back() == frame{tag::notice, std::string(cancelled_notice)});
  w.gateway.ended(1);
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  CHECK(w.cancelling.empty()); // nothing is left to cancel
}

TEST_CASE("the end of an answer that never began follows the speech that it waited behind", "[voice]") {
  world w;
  w.speak("play it");
  w.answer("A long answer.");
  w.chunk();
  const auto known = w.exchanges.size();
  w.say("I stopped the search.");
  REQUIRE(w.exchanges.size() == known + 1);
  w.stop_elsewhere(w.exchanges.rbegin()->first);
  CHECK(w.count(w.received, tag::speech_end) == 0);
  w.chunk();
  CHECK(w.received.back().tag == tag::speech);
  w.end_speech();
  CHECK(w.count(w.received, tag::speech_end) == 2);
}

TEST_CASE("words that answer what is asked reach no brain, and the exchange that asks goes on", "[voice]") {
  world w;
  w.speak("choose");
  w.say("Which one?");
  w.chunk("QQQQ");
  w.end_speech();
  w.hear();
  w.judges_at_once = false;
  w.recognise("blue", true);
  REQUIRE(w.judging.size() == 1);
  const auto n = w.judging.front().n;
  w.gateway.on_verdict(n, verdict::answers);
  w.run();
  CHECK(w.exchanges[n] == ended::completed);
  CHECK(w.count(w.to_brain, tag::transcript) == 1);
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 0);
  w.answer("Blue it is.");
  CHECK(w.speeches.size() == 1);
  w.gateway.on_verdict(n, verdict::answers); // late: it is over
  w.run();
  CHECK(w.speeches.size() == 1);
}
