// The user talks over an answer (04): that answer ends, also what is on its way of it and what its brain still sends.
#include <catch2/catch.hpp>

#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;

namespace {

/// A frame that leaves the gateway reaches the client when the test says so, and is heard for ever.
struct slow_world : world {
  slow_world() {
    arrives_at_once = hears_at_once = false;
    speak("tell me a story");
    answer("Once upon a time.");
    chunk();
    all_arrive();
  }
  void all_arrive() {
    while (!on_the_way.empty()) arrive();
  }
  void talk() {
    client.begin_talking();
    client.microphone("xx");
    client.end_talking();
    run();
  }
  std::size_t ends() const { return count(received, tag::speech_end); }
};

} // namespace

TEST_CASE("what is on its way of an answer that is talked over is not played", "[voice]") {
  slow_world w;
  w.chunk("BBBB");
  w.talk();
  w.all_arrive();
  CHECK(w.ends() == 1);
  CHECK(w.speaker.empty());
  CHECK_FALSE(w.client.is_playing());
  w.recognise("and then", true);
  w.answer("They left.");
  w.chunk("CCCC");
  w.all_arrive();
  CHECK(w.speaker == "CCCC");
}

TEST_CASE("an answer behind one that was whole when it was talked over is played", "[voice]") {
  slow_world w;
  w.end_speech();
  w.all_arrive();
  w.talk();
  w.recognise("and then", true);
  w.answer("They left.");
  w.chunk("CCCC");
  w.all_arrive();
  CHECK(w.speaker == "CCCC");
}

TEST_CASE("a cancel behind the talking leaves nothing to be dropped of the next answer", "[voice]") {
  slow_world w;
  w.chunk("BBBB");
  w.talk();
  w.cancel_key();
  w.all_arrive();
  CHECK(w.speaker.empty());
  w.recognise("and then", true); // said before the cancel
  w.speak("next");
  w.answer("Yes.");
  w.chunk("CCCC");
  w.all_arrive();
  CHECK(w.speaker == "CCCC");
}

TEST_CASE("what a brain still sends of an answer that is talked over ends unspoken", "[voice]") {
  slow_world w;
  w.talk();
  w.answer_frame({tag::answer, "The next sentence."});
  w.answer_frame({tag::answer, "And one more."});
  CHECK(w.speeches.empty());
  CHECK(w.ends() == 3);
  CHECK(w.exchanges == std::map<exchange_number, ended>{{1, ended::completed}});
  w.recognise("and then", true);
  w.answer("They left.");
  CHECK(w.speeches.size() == 1);
}

TEST_CASE("an answer that nobody asked for is spoken some seconds behind one that was talked over", "[voice]") {
  slow_world w;
  w.talk();
  w.gateway.remainder_over();
  w.answer_frame({tag::answer, "Your tea is ready."});
  CHECK(w.speeches.size() == 1);
}

TEST_CASE("talking over quell's own words ends nothing of a brain", "[voice]") {
  world w;
  w.hears_at_once = false;
  w.say("Stopped: exec.");
  w.chunk();
  w.client.begin_talking();
  w.run();
  w.answer_frame({tag::answer, "Your tea is ready."});
  CHECK(w.speeches.size() == 1);
}
