// The end of an exchange that is on its way to the ledger, where a stop can have come first: what the next prompt, the
// client and the brain are told, in every order.
#include <catch2/catch.hpp>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;
using namespace std::string_literals;

namespace {

/// The answer was spoken to its end, and the ledger has not said yet how the exchange ended.
struct ending_world : world {
  explicit ending_world(brain_side::manner how = brain_side::manner::at_once) : world(how) { ends_at_once = false; }

  void spoken() {
    speak("tell me a story");
    answer("Once upon a time.");
    if (client.menu() == menu::before_speech) press('1');
    chunk();
    end_speech();
    REQUIRE(ending == std::vector<exchange_number>{1});
  }
  std::size_t notices(std::string_view notice) const {
    std::size_t n = 0;
    for (const auto& f : received) n += f.tag == tag::notice && f.payload == notice ? 1U : 0U;
    return n;
  }
  std::size_t cancels_at_brain() const { return count(to_brain, tag::brain_cancel); }
};

} // namespace

TEST_CASE("a stop that came before the end is told to the brain once, and sets the context once", "[voice]") {
  ending_world w;
  w.spoken();
  CHECK(w.cancels_at_brain() == 0);
  w.settle_end(1, true);
  w.gateway.stopped(1); // of the next stop
  w.run();
  CHECK(w.cancels_at_brain() == 1);
  CHECK(w.notices(stopped_notice) == 1);
  CHECK(w.speaker.empty()); // what the client had not played yet
  CHECK(w.count(w.received, tag::speech_end) == 1);
  w.answer_frame({tag::answer, "And then?"}); // of the cancelled exchange
  CHECK(w.speeches.empty());
  w.ends_at_once = true;
  w.speak("next");
  CHECK(w.brain_asks.back().context == cancel_context);
  w.answer("Next.");
  w.end_speech();
  w.speak("one more");
  CHECK(w.brain_asks.back().context.empty());
}

TEST_CASE("an end that is durable was not a cancel, and a stop behind it changes nothing", "[voice]") {
  ending_world w;
  w.spoken();
  w.settle_end(1);
  w.gateway.stopped(1);
  w.run();
  CHECK(w.cancels_at_brain() == 0);
  CHECK(w.notices(stopped_notice) == 0);
  w.speak("next");
  CHECK(w.brain_asks.back().context.empty());
}

TEST_CASE("words wait for the end of the exchange before them", "[voice]") {
  for (const bool were_waiting : {false, true})
    for (const bool is_stopped : {false, true}) {
      ending_world w;
      w.speak("tell me a story");
      w.answer("Once upon a time.");
      w.chunk();
      if (were_waiting) w.recognise("next", true);
      w.end_speech();
      if (!were_waiting) w.recognise("next", true);
      CHECK(w.brain_asks.size() == 1);
      w.settle_end(1, is_stopped);
      REQUIRE(w.brain_asks.size() == 2);
      CHECK(w.brain_asks.back().text == "next");
      CHECK(w.brain_asks.back().context == (is_stopped ? cancel_context : ""));
      CHECK(w.exchanges[2] == ended::no);
    }
}

TEST_CASE("a 07 while the end is on its way is the only cancel that is told", "[voice]") {
  for (const bool is_stopped : {false, true})
    for (const bool is_fenced_first : {false, true}) {
      ending_world w;
      w.fences_at_once = false;
      w.spoken();
      w.cancel_key();
      CHECK(w.notices(cancelled_notice) == 0);
      is_fenced_first ? w.fence() : w.mark();
      w.settle_end(1, is_stopped);
      CHECK(w.notices(cancelled_notice) == 1); // without a fence, too: the cancel found it ended
      w.fence();
      CHECK(w.notices(cancelled_notice) == 1);
      CHECK(w.notices(stopped_notice) == 0);
      CHECK(w.cancels_at_brain() == 1);
      CHECK(w.count(w.received, tag::speech_end) == 1);
      w.speak("next");
      CHECK(w.brain_asks.back().context == cancel_context);
    }
}

TEST_CASE("each 07 while the end is on its way is forwarded and answered", "[voice]") {
  ending_world w;
  w.fences_at_once = false;
  w.spoken();
  for (int i = 0; i < 2; ++i) w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  CHECK(w.cancelling == std::vector<exchange_number>{1}); // one cancel in the ledger
  CHECK(w.notices(cancelled_notice) == 0);
  w.mark();
  CHECK(w.notices(cancelled_notice) == 0);
  w.settle_end(1, true);
  CHECK(w.notices(cancelled_notice) == 2);
  CHECK(w.cancels_at_brain() == 2);
  w.gateway.on_client_message({tag::cancel, {}});
  w.run();
  CHECK(w.notices(cancelled_notice) == 3);
}

TEST_CASE("what waits behind a cancelled that is owed is dropped when a stop came before its end", "[voice]") {
  const bool has_sound = GENERATE(false, true); // without any, its end is on its way at once
  ending_world w;
  w.fences_at_once = false;
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk();
  w.cancel_key();
  w.speak("next");
  w.answer("Next answer.");
  if (has_sound) w.chunk("CCCC");
  w.end_speech();
  has_sound ? w.stop_elsewhere(2) : w.settle_end(2, true);
  w.fence();
  for (const auto& f : w.received) CHECK(f.payload != "AI: Next answer.");
  CHECK(w.speaker.empty());
  CHECK(w.count(w.received, tag::speech_end) == 2); // one for each answer
  CHECK(w.cancels_at_brain() == 2);
}

TEST_CASE("an answer that was heard before its stop was known cannot be replayed", "[voice]") {
  ending_world w(brain_side::manner::asks);
  w.spoken();
  w.played();
  CHECK(w.client.menu() == menu::after_speech);
  w.settle_end(1, true);
  CHECK(w.client.menu() == menu::none);
  w.speak("next");
  w.answer("Next.");
  w.press('3');
  CHECK(w.speaker.empty());
}

TEST_CASE("a stop that came before a rephrasing beats its context", "[voice]") {
  for (const bool is_stopped : {false, true}) {
    ending_world w(brain_side::manner::asks);
    w.speak("book a flight");
    w.answer("Which one?");
    w.press('2');
    REQUIRE(w.ending == std::vector<exchange_number>{1});
    w.settle_end(1, is_stopped);
    w.speak("book a train");
    CHECK(w.brain_asks.back().context == (is_stopped ? cancel_context : retry_context));
  }
}

TEST_CASE("a stop that came before the end of other words leaves the exchange at the brain alone", "[voice]") {
  ending_world w;
  w.speak("tell me a story");
  w.recognise("hm", false);
  w.recognise("", true); // it was nothing: that exchange ends
  REQUIRE(w.ending == std::vector<exchange_number>{2});
  w.settle_end(2, true);
  CHECK(w.cancels_at_brain() == 0);
  w.answer("Once upon a time.");
  CHECK(w.speeches.size() == 1);
}

TEST_CASE("words that cannot be judged end as failed, unless a stop came first", "[voice]") {
  for (const bool is_stopped : {false, true}) {
    ending_world w;
    w.judges_at_once = false;
    w.speak("one");
    REQUIRE(w.judging.size() == 1);
    w.gateway.on_verdict(w.judging.front().n, verdict::passes);
    w.run();
    w.answer("One.");
    w.end_speech();
    w.settle_end(1);
    w.speak("two");
    w.gateway.failed(w.judging.back().n, "the disk is full");
    w.run();
    CHECK(w.notices("the disk is full") == 1);
    CHECK(w.exchanges[2] == ended::failed);
    w.settle_end(2, is_stopped);
    CHECK(w.cancels_at_brain() == (is_stopped ? 1U : 0U));
  }
}

TEST_CASE("an exchange that was refused while it ended keeps no words waiting", "[voice]") {
  ending_world w;
  w.spoken();
  w.recognise("next", true);
  CHECK(w.brain_asks.size() == 1);
  w.undecided.clear();
  w.gateway.refused(1, "there are too many operations");
  w.run();
  CHECK(w.notices("there are too many operations") == 1);
  CHECK(w.brain_asks.size() == 2);
}

TEST_CASE("nothing is told of an end behind a connection that is over", "[voice]") {
  for (const bool is_client : {false, true}) {
    ending_world w;
    w.spoken();
    w.recognise("next", true); // waits
    if (is_client)
      w.gateway.client_gone();
    else
      w.gateway.brain_gone("it crashed");
    w.run();
    const auto received = w.received.size(), requested = w.to_brain.size();
    w.settle_end(1, true);
    CHECK(w.received.size() == received);
    CHECK(w.to_brain.size() == requested);
    CHECK(w.brain_asks.size() == 1);
  }
}
