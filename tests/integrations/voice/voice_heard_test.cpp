// An exchange lives until its answer has been heard: cancels between the last chunk and the ear, and behind it.
#include <catch2/catch.hpp>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;

namespace {

/// The answer was given whole, and is still heard.
struct audible_world : world {
  explicit audible_world(brain_side::manner how = brain_side::manner::at_once) : world(how) { hears_at_once = false; }

  void given() {
    speak("tell me a story");
    answer("Once upon a time.");
    chunk();
    end_speech();
    REQUIRE(count(received, tag::speech_end) == 1);
    REQUIRE(exchanges[1] == ended::no);
  }
  std::size_t ends() const { return count(received, tag::speech_end); }
  std::size_t notices(std::string_view notice) const {
    std::size_t n = 0;
    for (const auto& f : received) n += f.tag == tag::notice && f.payload == notice ? 1U : 0U;
    return n;
  }
};

} // namespace

TEST_CASE("an exchange counts as answered from the first answer or question of its brain until it ends", "[voice]") {
  audible_world w(GENERATE(brain_side::manner::at_once, brain_side::manner::asks));
  w.recognise("tell me", false);
  w.recognise("tell me a story", true);
  REQUIRE(w.gateway.open_exchange() == exchange_number{1});
  CHECK_FALSE(w.gateway.answered_exchange());
  w.recognise("and another", true); // waits for its turn
  w.answer("Once upon a time.");
  CHECK(w.gateway.answered_exchange() == exchange_number{1});
  if (w.client.menu() == menu::before_speech) w.press('1');
  w.chunk();
  w.end_speech();
  CHECK(w.gateway.answered_exchange() == exchange_number{1}); // nobody has heard it yet
  w.hear();
  CHECK(w.exchanges[1] == ended::completed);
  CHECK(w.gateway.open_exchange() == exchange_number{2});
  CHECK_FALSE(w.gateway.answered_exchange());
}

TEST_CASE("what quell itself says of a stop answers nobody's words", "[voice]") {
  audible_world w;
  w.say("Stopped: exec.");
  w.chunk();
  CHECK_FALSE(w.gateway.answered_exchange());
}

TEST_CASE("an exchange ends when its answer has been heard", "[voice]") {
  audible_world w;
  w.given();
  w.hear();
  CHECK(w.exchanges[1] == ended::completed);
  CHECK(w.spoken[1]);
  CHECK(w.ends() == 1);
}

TEST_CASE("a 07 in audible speech cancels the exchange, also behind the last chunk", "[voice]") {
  audible_world w;
  w.given();
  if (GENERATE(false, true)) w.played(); // the client's clock is ahead
  w.cancel_key();
  CHECK(w.exchanges[1] == ended::cancelled);
  CHECK(w.ends() == 1);
  CHECK(w.retracted.empty());
  CHECK(w.notices(cancelled_notice) == 1);
  CHECK(w.speaker.empty());
  w.hear();
  CHECK(w.exchanges[1] == ended::cancelled);
  w.speak("next");
  CHECK(w.brain_asks.back().context == cancel_context);
}

TEST_CASE("a 07 behind an answer takes it back, and is answered when that is durable", "[voice]") {
  audible_world w;
  w.fences_at_once = false;
  w.given();
  w.hear();
  w.played();
  w.cancel_key();
  CHECK(w.exchanges[1] == ended::completed);
  CHECK(w.retracted == std::vector<exchange_number>{1});
  CHECK(w.notices(cancelled_notice) == 0);
  w.mark();
  CHECK(w.notices(cancelled_notice) == 1);
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  CHECK(w.retracted.size() == 1); // once
  CHECK(w.notices(cancelled_notice) == 2);
}

TEST_CASE("a 07 for newer words leaves the answer before them alone", "[voice]") {
  audible_world w;
  w.given();
  w.hear();
  w.played();
  w.recognise("and th", false);
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  CHECK(w.exchanges[2] == ended::cancelled);
  CHECK(w.retracted.empty());
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  CHECK(w.retracted.empty()); // the newer words were cancelled last
}

TEST_CASE("a 07 while the next words are asked takes nothing older back", "[voice]") {
  audible_world w;
  w.given();
  w.hear();
  w.recognise("and then", true);
  w.cancel_key();
  CHECK(w.exchanges[2] == ended::cancelled);
  CHECK(w.retracted.empty());
}

TEST_CASE("words wait until the answer before them has been heard", "[voice]") {
  audible_world w;
  w.given();
  w.recognise("next", true);
  CHECK(w.brain_asks.size() == 1);
  w.hear();
  CHECK(w.brain_asks.size() == 2);
  CHECK(w.brain_asks.back().context.empty());
}

TEST_CASE("talking over the audible end of an answer ends the exchange without a cancel", "[voice]") {
  audible_world w;
  w.given();
  w.client.begin_talking();
  w.run();
  CHECK(w.exchanges[1] == ended::completed);
  CHECK_FALSE(w.spoken[1]); // not to its end
  CHECK(w.ends() == 1);
  CHECK(w.hearing.empty());
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 0);
}

TEST_CASE("a stop elsewhere silences the audible end of an answer", "[voice]") {
  audible_world w;
  w.given();
  w.stop_elsewhere(1);
  CHECK(w.ends() == 1);
  CHECK(w.notices(stopped_notice) == 1);
  CHECK(w.speaker.empty());
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 1);
  w.speak("next");
  CHECK(w.brain_asks.back().context == cancel_context);
}

TEST_CASE("a peer that leaves while the last samples are heard takes nothing back", "[voice]") {
  audible_world w;
  w.given();
  if (GENERATE(false, true))
    w.gateway.client_gone();
  else
    w.gateway.brain_gone("it crashed");
  w.run();
  CHECK(w.exchanges[1] == ended::completed);
  CHECK(w.spoken[1]);
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 0);
  CHECK(w.ends() == 1);
}

TEST_CASE("an exchange with two answers ends when the second one has been heard", "[voice]") {
  audible_world w;
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk("AAAA");
  w.end_speech();
  w.answer_frame({tag::answer, "The end."}); // the exchange is still its own
  CHECK(w.exchanges.size() == 1);
  w.chunk("BBBB");
  w.hear();
  CHECK(w.exchanges[1] == ended::no);
  w.end_speech();
  w.hear();
  CHECK(w.exchanges[1] == ended::completed);
  CHECK(w.ends() == 2);
}

TEST_CASE("answers that nobody asked for are one exchange until they have been heard", "[voice]") {
  audible_world w;
  for (const auto* text : {"By the way.", "Your tea is ready.", "And warm."}) w.answer_frame({tag::answer, text});
  w.say("Stopped: exec."); // of quell itself
  CHECK(w.exchanges.size() == 2);
  for (int i = 0; i < 3; ++i) {
    CHECK(w.exchanges[1] == ended::no);
    w.chunk();
    w.end_speech();
  }
  w.hear();
  w.hear();
  w.hear();
  CHECK(w.exchanges[1] == ended::completed);
  CHECK(w.exchanges[2] == ended::no);
  w.answer_frame({tag::answer, "One more thing."});
  CHECK(w.exchanges.size() == 3);
}

TEST_CASE("a brain that sends more answers than may wait is refused, and its client told", "[voice]") {
  const bool have_question = GENERATE(false, true), are_long = GENERATE(false, true);
  audible_world w;
  if (have_question) w.speak("tell me a story");
  const std::string text(are_long ? 60'000 : 5, 'x');
  for (int i = 0; i < 300 && w.brain_refusals.empty(); ++i) w.answer_frame({tag::answer, text});
  CHECK(w.brain_refusals == std::vector<std::string>{"too_many_answers"});
  CHECK(w.exchanges.size() == 1);
  CHECK(w.accepted == (are_long ? 18U : 257U)); // one of them is spoken
  CHECK(w.ends() == w.accepted);
  CHECK(w.refusal.find("no_brain") != std::string::npos);
  CHECK(w.is_closed);
}

TEST_CASE("one 07 cancels what is heard and what is given behind it", "[voice]") {
  audible_world w;
  w.given();
  w.say("Stopped: exec.");
  w.chunk("BBBB");
  w.cancel_key();
  CHECK(w.exchanges[1] == ended::cancelled);
  CHECK(w.exchanges[2] == ended::cancelled);
  CHECK(w.ends() == 2);
  CHECK(w.speaker.empty());
}

TEST_CASE("an answer that waits behind a cancelled is heard from when it leaves", "[voice]") {
  audible_world w;
  w.fences_at_once = false;
  w.speak("one");
  w.cancel_key();
  w.speak("two");
  w.answer("Two.");
  w.chunk("BBBB");
  w.end_speech();
  w.hear(); // by the clock; the client has nothing of it
  CHECK(w.exchanges[2] == ended::no);
  CHECK(w.speaker.empty());
  w.fence();
  CHECK(w.speaker == "BBBB");
  CHECK(w.exchanges[2] == ended::no);
  w.hear();
  CHECK(w.exchanges[2] == ended::completed);
}

TEST_CASE("a client has something to cancel until its answer was played", "[voice]") {
  audible_world w;
  CHECK_FALSE(w.client.is_answering());
  w.given();
  CHECK(w.client.is_answering());
  w.played();
  CHECK_FALSE(w.client.is_answering()); // to leave now takes nothing back
  CHECK(w.client.menu() == menu::after_speech);
}

TEST_CASE("a brain that sends more than may wait behind a cancel is refused once the limit is reached", "[voice]") {
  const bool are_long = GENERATE(false, true);
  audible_world w;
  w.fences_at_once = false;
  w.given();
  w.cancel_key();
  REQUIRE(w.cancelling.size() == 1);
  const auto before = w.received.size();
  const std::string text(are_long ? 60'000 : 5, 'x');
  int sent = 0;
  for (; sent < 300 && w.brain_refusals.empty(); ++sent)
    w.answer_frame({sent % 2 == 0 ? tag::brain_notice : tag::brain_summary, text});
  CHECK(w.brain_refusals == std::vector<std::string>{"too_many_frames"});
  CHECK(sent == (are_long ? 18 : 257));
  CHECK(w.received.size() == before); // nothing overtakes the `cancelled`
  w.fence();
  w.run();
  CHECK(w.notices(cancelled_notice) == 1);
  CHECK(w.is_closed);
}
