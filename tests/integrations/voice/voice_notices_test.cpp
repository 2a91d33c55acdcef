// The words of a gateway and those that it passes on: a brain cannot forge its words, and no text breaks a client.
#include <catch2/catch.hpp>

#include "integrations/voice/words.hpp"
#include "protocol/utf8.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;

TEST_CASE("a notice of a brain never counts as one of quell's", "[voice]") {
  world w;
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk("AAAA");
  REQUIRE(w.client.is_playing());
  w.arrives_at_once = false;
  for (const auto& forged : {std::string(cancelled_notice), std::string(stopped_notice), std::string(hearing_prefix)})
    w.answer_frame({tag::brain_notice, forged});
  w.chunk("BBBB"); // all of this is on its way when the key is pressed
  w.cancel_key();
  for (int i = 0; i < 4; ++i) w.arrive();
  CHECK(w.client.waits()); // for the answer to its 07
  CHECK(w.speaker.empty());
  while (!w.on_the_way.empty()) w.arrive();
  CHECK_FALSE(w.client.waits());
  CHECK(w.speaker.empty());
  for (const auto& f : w.received)
    if (f.tag == tag::notice && f.payload != cancelled_notice) CHECK(f.payload.starts_with(brain_prefix));
}

TEST_CASE("a notice of a brain ends nothing at the client", "[voice]") {
  world w;
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk("AAAA");
  w.answer_frame({tag::brain_notice, std::string(stopped_notice)});
  CHECK(w.speaker == "AAAA");
  CHECK(w.client.is_playing());
}

TEST_CASE("the longest answer and the longest words fit a frame, cut between two characters", "[voice]") {
  std::string longest = GENERATE(std::string(), std::string("x"), std::string("xy"), std::string("xyz"));
  while (longest.size() + 4 <= most_text_bytes) longest += "\xF0\x9F\x8E\xB5";
  world w;
  w.speak("sing");
  w.answer_frame({tag::answer, longest});
  REQUIRE(w.received.back().tag == tag::text);
  const auto& shown = w.received.back().payload;
  CHECK(shown.starts_with(ai_prefix));
  CHECK(is_utf8(shown));
  CHECK(shown.size() <= most_text_bytes);
  CHECK(shown.size() > most_text_bytes - 4);
  CHECK(w.shown.back() == shown);                    // the client has read it
  CHECK(w.speeches.begin()->second.text == longest); // all of it is spoken
  w.speak(longest);
  w.recognise(longest, false);
  for (const auto& f : w.received) CHECK(f.payload.size() <= most_text_bytes);
  CHECK(w.shown.back().starts_with(hearing_prefix));
}

TEST_CASE("a notice of quell waits behind a cancelled that is owed", "[voice]") {
  world w;
  w.fences_at_once = false;
  w.speak("tell me a story");
  w.cancel_key();
  w.gateway.tell("the recogniser exited with status 1");
  w.run();
  CHECK(w.count(w.received, tag::notice) == 0);
  w.fence();
  REQUIRE(w.count(w.received, tag::notice) == 2);
  CHECK(w.received.back().payload == "the recogniser exited with status 1");
}

TEST_CASE("a voice is given no signs to spell", "[voice]") {
  CHECK(without_signs("\xF0\x9F\x9B\x91 stopping\xE2\x80\xA6") == "stopping\xE2\x80\xA6");
  CHECK(without_signs("\xE2\x9A\xA0\xEF\xB8\x8F not known") == "not known");
  CHECK(without_signs("Stopped \xE2\x9C\x85 it all. \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB") ==
        "Stopped it all.");
  CHECK(without_signs("h\xC3\xB6r auf, \xE4\xB8\xAD, 3 < 4") == "h\xC3\xB6r auf, \xE4\xB8\xAD, 3 < 4");
  CHECK(without_signs("\xF0\x9F\x9B\x91").empty());
  CHECK(without_signs("").empty());
}
