// Effects of a cancel on a voice exchange, at each of its instants and from each source.
#include <catch2/catch.hpp>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;
using namespace std::string_literals;

namespace {

std::vector<tag> since(const world& w, std::size_t sent) {
  return w.tags({w.sent.begin() + static_cast<std::ptrdiff_t>(sent), w.sent.end()});
}

/// Brings the exchange to the first chunk of the answer.
void in_speech(world& w) {
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk();
}

bool says_cancelled_once(const world& w) {
  std::size_t n = 0;
  for (const auto& f : w.received) n += f.tag == tag::notice && f.payload == cancelled_notice ? 1U : 0U;
  return n == 1;
}

} // namespace

TEST_CASE("an exchange goes from words to speech", "[voice]") {
  world w;
  in_speech(w);
  w.end_speech();
  CHECK(w.speaker == "AAAA");
  CHECK(w.exchanges == std::map<exchange_number, ended>{{1, ended::completed}});
  CHECK(w.transcripts[1] == "tell me a story");
  CHECK(w.shown == std::vector<std::string>{"You: tell me a story", "AI: Once upon a time."});
  CHECK(w.count(w.received, tag::speech_end) == 1);
}

TEST_CASE("a cancel in speech sends 04, then 07, and listens again without a menu", "[voice]") {
  world w;
  in_speech(w);
  const auto before = w.sent.size();
  w.cancel_key();
  CHECK(since(w, before) == std::vector<tag>{tag::interrupt_speech, tag::cancel});
  CHECK(w.speaker.empty());
  CHECK(w.client.menu() == menu::none);
  CHECK_FALSE(w.client.is_playing());
  CHECK(w.exchanges[1] == ended::cancelled);
  CHECK(w.speeches.empty());
  CHECK(says_cancelled_once(w));
  CHECK(w.count(w.received, tag::speech_end) == 1);
  w.speak("next");
  CHECK(w.count(w.to_brain, tag::transcript) == 2);
}

TEST_CASE("a cancel in the menu sends exactly one 07, no 05, and nothing is answered", "[voice]") {
  world w(brain_side::manner::asks);
  w.speak("book a flight");
  w.answer("I would book it.");
  REQUIRE(w.client.menu() == menu::before_speech);
  CHECK(w.count(w.received, tag::speech) == 0);
  const auto before = w.sent.size();
  w.press('4');
  CHECK(since(w, before) == std::vector<tag>{tag::cancel});
  CHECK(w.count(w.of_brain, tag::answer) == 0);
  CHECK(w.client.menu() == menu::none);
  CHECK(w.exchanges[1] == ended::cancelled);
}

TEST_CASE("after a question nothing is spoken until it is continued", "[voice]") {
  world w(brain_side::manner::asks);
  w.speak("book a flight");
  w.answer("I would book it.");
  CHECK(w.speeches.empty());
  w.answer_frame({tag::answer, "Impatient."}); // a brain that does not wait
  CHECK(w.speeches.empty());
  w.press('1');
  CHECK(w.speeches.size() == 1);
  CHECK(w.count(w.to_brain, tag::brain_choice) == 1);
}

TEST_CASE("the menu replays the last answer and stays", "[voice]") {
  world w(brain_side::manner::asks);
  w.speak("one");
  w.answer("First.");
  w.press('1');
  w.chunk("BBBB");
  w.end_speech();
  w.played();
  CHECK(w.client.menu() == menu::after_speech);
  w.press('1'); // has no meaning any more
  CHECK(w.count(w.to_brain, tag::brain_choice) == 1);
  w.speak("two");
  w.answer("Second.");
  w.press('3');
  CHECK(w.speaker == "BBBB");
  CHECK(w.client.menu() == menu::before_speech);
  w.played();
  CHECK(w.client.menu() == menu::before_speech);
}

TEST_CASE("a cancel while speech is recognised", "[voice]") {
  world w;
  w.client.begin_talking();
  w.client.microphone(std::string(320, 'u'));
  w.recognise("tell", false);
  w.cancel_key();
  CHECK(w.exchanges[1] == ended::cancelled);
  w.recognise("tell me a story", true); // the recogniser finishes what it had begun
  CHECK(w.count(w.to_brain, tag::transcript) == 0);
  CHECK(w.exchanges.size() == 1);
  w.speak("something else");
  CHECK(w.to_brain.back() == frame{tag::transcript, "something else"});
}

TEST_CASE("a recogniser that says when a transcript begins loses nothing of the next one", "[voice]") {
  world w;
  w.client.begin_talking();
  w.client.microphone(std::string(320, 'u'));
  w.cancel_key(); // nothing was recognised yet
  w.gateway.on_recognised({"late words", true, {}, 100});
  w.gateway.on_recognised({"new words", true, {}, 160 + 2 * pause_samples});
  w.run();
  CHECK(w.to_brain.back() == frame{tag::transcript, "new words"});
}

TEST_CASE("a cancel while the model is asked: what it answers is never heard", "[voice]") {
  world w;
  w.speak("tell me a story");
  w.cancel_key();
  CHECK_FALSE(w.open_query);
  w.answer_frame({tag::answer, "Too late."});
  w.answer_frame({tag::question, "Too late?"});
  CHECK(w.speeches.empty());
  CHECK(w.count(w.received, tag::feedback) == 0);
  CHECK(w.count(w.received, tag::text) == 1);
}

TEST_CASE("a cancel before the first chunk, and between chunks", "[voice]") {
  for (const int chunks : {0, 1, 3}) {
    world w;
    w.speak("tell me a story");
    w.answer("Once upon a time.");
    for (int i = 0; i < chunks; ++i) w.chunk();
    const auto speech = w.speeches.begin()->first;
    const auto speech_before = w.count(w.received, tag::speech);
    w.cancel_key();
    w.gateway.chunk(speech, "in flight");
    w.gateway.speech_over(speech, {});
    w.run();
    CHECK(w.count(w.received, tag::speech) == speech_before);
    CHECK(w.count(w.received, tag::speech_end) == 1);
    CHECK(w.speaker.empty());
    CHECK(w.exchanges[1] == ended::cancelled);
  }
}

TEST_CASE("a cancel after the answer sets the context of the next prompt", "[voice]") {
  world w;
  in_speech(w);
  w.end_speech();
  w.played();
  w.cancel_key();
  CHECK(w.sent.back().tag == tag::cancel);
  CHECK(w.exchanges[1] == ended::completed); // it had completed before
  CHECK(w.retracted == std::vector<exchange_number>{1});
  w.speak("next");
  CHECK(w.brain_asks.back().context == cancel_context);
}

TEST_CASE("twice sends once", "[voice]") {
  world w;
  w.fences_at_once = false;
  in_speech(w);
  w.cancel_key();
  w.cancel_key();
  CHECK(w.count(w.sent, tag::cancel) == 1);
  w.fence();
  w.cancel_key();
  CHECK(w.count(w.sent, tag::cancel) == 1);
  CHECK(says_cancelled_once(w));
}

TEST_CASE("with nothing said, asked or played the client sends nothing", "[voice]") {
  world w;
  w.cancel_key();
  CHECK(w.sent.empty());
}

TEST_CASE("the gateway forwards every 07, also an idle one, and answers each once", "[voice]") {
  world w;
  for (int i = 0; i < 3; ++i) w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 3);
  CHECK(w.count(w.received, tag::notice) == 3);
}

TEST_CASE("a brain ignores a cancel before any exchange, and a gateway one from a brain", "[voice]") {
  world w;
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  in_speech(w);
  CHECK(w.brain_asks.back().context.empty());
  w.answer_frame({tag::brain_cancel, {}});
  w.chunk();
  CHECK(w.count(w.received, tag::speech) == 2);
  CHECK(w.exchanges[1] == ended::no);
}

TEST_CASE("cancelled is said once it is fenced, and the next exchange is not heard before", "[voice]") {
  world w;
  w.fences_at_once = false;
  in_speech(w);
  w.cancel_key();
  CHECK_FALSE(says_cancelled_once(w));
  w.speak("next");
  w.answer("Next answer.");
  w.chunk("CCCC");
  CHECK(w.speaker.empty());
  w.fence();
  CHECK(says_cancelled_once(w));
  CHECK(w.speaker == "CCCC");
  CHECK(w.shown.back() == "AI: Next answer.");
}

TEST_CASE("what waits behind a cancelled that is owed is dropped with its exchange", "[voice]") {
  for (const bool by_key : {true, false}) {
    world w;
    w.fences_at_once = false;
    in_speech(w);
    w.cancel_key();
    w.speak("next");
    w.answer("Next answer.");
    w.chunk("CCCC");
    const auto ends = w.count(w.received, tag::speech_end);
    if (by_key)
      w.gateway.on_client_message({tag::cancel, {}});
    else
      w.stop_elsewhere(2);
    w.run();
    CHECK(w.count(w.received, tag::speech_end) == ends + 1);
    w.fence();
    for (const auto& f : w.received) CHECK(f.payload != "AI: Next answer.");
    CHECK(w.speaker.empty());
    CHECK(w.count(w.received, tag::speech_end) == w.count(w.of_brain, tag::answer)); // one each, also when dropped
  }
}

TEST_CASE("a 07 drops what waits of an answer that was already spoken to its end", "[voice]") {
  world w;
  w.fences_at_once = false;
  in_speech(w);
  w.cancel_key();
  w.speak("next");
  w.answer("Next answer.");
  w.chunk("CCCC");
  w.end_speech();
  CHECK(w.exchanges[2] == ended::no); // nobody has heard it
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  w.fence();
  for (const auto& f : w.received) CHECK(f.payload != "AI: Next answer.");
  CHECK(w.speaker.empty());
  CHECK(w.count(w.received, tag::speech_end) == w.count(w.of_brain, tag::answer));
}

TEST_CASE("words behind a cancel wait until an answer in flight has come, and it is not theirs", "[voice]") {
  world w;
  w.rests_at_once = false;
  w.speak("one");
  w.speak("two"); // waits for its turn
  w.stop_elsewhere(1);
  CHECK(w.brain_asks.size() == 1);
  w.answer_frame({tag::answer, "To one."}); // it was on its way
  CHECK(w.speeches.empty());
  w.gateway.rested();
  w.run();
  REQUIRE(w.brain_asks.size() == 2);
  CHECK(w.brain_asks.back().text == "two");
}

TEST_CASE("the answer of a cancelled exchange cannot be replayed, an older one can", "[voice]") {
  world w(brain_side::manner::asks);
  w.speak("one");
  w.answer("First.");
  w.press('1');
  w.chunk("BBBB");
  w.end_speech();
  w.played();
  w.speak("two");
  w.answer("Second.");
  w.press('4');
  w.speak("three");
  w.answer("Third.");
  w.press('3');
  CHECK(w.speaker == "BBBB"); // the first one was heard, and never cancelled
  w.press('1');
  w.chunk("CCCC");
  w.cancel_key();
  w.speak("four");
  w.answer("Fourth.");
  w.press('3');
  CHECK(w.speaker.empty());
}

TEST_CASE("an answer that was cancelled after it was heard to its end cannot be replayed", "[voice]") {
  world w(brain_side::manner::asks);
  w.speak("one");
  w.answer("First.");
  w.press('1');
  w.chunk("BBBB");
  w.end_speech();
  w.played();
  w.cancel_key();
  w.speak("two");
  w.answer("Second.");
  w.press('3');
  CHECK(w.speaker.empty());
}

TEST_CASE("a client drops what comes between its 07 and the answer to it", "[voice]") {
  client_side c;
  c.begin_talking();
  c.microphone("xx");
  c.end_talking();
  c.on_gateway_message({tag::text, "You: hello"});
  c.cancel();
  (void)c.take();
  for (const auto& f :
       {frame{tag::text, "AI: hi"}, frame{tag::speech, "xx"}, frame{tag::speech_end, {}}, frame{tag::feedback, "?"}})
    c.on_gateway_message(f);
  CHECK(c.take().empty());
  c.on_gateway_message({tag::notice, "cancelled"});
  c.on_gateway_message({tag::speech, "xx"});
  CHECK(c.take() == std::vector<client_effect>{client_effects::play{"xx"}});
}

TEST_CASE("every answer has exactly one 84", "[voice]") {
  world w;
  in_speech(w);
  w.answer_frame({tag::answer, "And more."});
  w.answer_frame({tag::answer, "And more still."});
  w.client.begin_talking(); // 04
  w.run();
  CHECK(w.count(w.received, tag::speech_end) == 3);
  CHECK(w.exchanges[1] == ended::completed);
}

TEST_CASE("talking over an answer changes no context", "[voice]") {
  world w;
  in_speech(w);
  const auto before = w.sent.size();
  w.client.begin_talking();
  w.run();
  CHECK(since(w, before) == std::vector<tag>{tag::interrupt_speech, tag::resume});
  CHECK(w.speaker.empty());
  w.client.microphone("xx");
  w.client.end_talking();
  w.run();
  w.recognise("and then", true);
  CHECK(w.brain_asks.back().context.empty());
}

TEST_CASE("an open microphone counts as speech only once something is recognised", "[voice]") {
  world w;
  w.client.open_microphone();
  w.client.microphone(std::string(320, 's'));
  w.run();
  w.cancel_key(); // nothing was said: nothing is sent
  CHECK(w.count(w.sent, tag::cancel) == 0);
  w.recognise("tell me", false);
  w.cancel_key();
  CHECK(w.count(w.sent, tag::cancel) == 1);
  CHECK(w.exchanges[1] == ended::cancelled);
  CHECK(w.client.is_talking());
  w.client.microphone(std::string(320, 's'));
  w.client.end_talking(); // it stays open
  w.run();
  CHECK(w.client.is_talking());
  CHECK(w.count(w.sent, tag::pause) == 0);
  CHECK(w.count(w.sent, tag::audio) == 2);
}
