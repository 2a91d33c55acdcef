// The audio that a session keeps for its recogniser, whatever a client sends.
#include <catch2/catch.hpp>

#include "tests/actors/voice/session_world.hpp"

using namespace quell;
using namespace quell::controller::voice::testing;
using namespace std::chrono_literals;
using voices::nothing_recognised_notice;

TEST_CASE("a session waits for words with one timer, however many pauses come", "[voice]") {
  session_world w;
  const auto before = w.loop->timers();
  for (int i = 0; i < 1000; ++i) w.speak();
  for (int i = 0; i < 1000; ++i) w.client(voices::tag::pause);
  CHECK(w.loop->timers() == before + 1);
}

TEST_CASE("the rest of an answer that is talked over is awaited with one timer, 2 s behind its last part", "[voice]") {
  session_world w;
  w.speak_and_end();
  w.pass(0ms); // a 07 would have come
  const auto before = w.loop->timers();
  for (int i = 0; i < 1000; ++i) w.brain_says("And one more.");
  CHECK(w.loop->timers() == before);
  w.now.boot = w.now.boot + 1s;
  w.brain_says("And the last one.");
  w.pass(1s);
  w.brain_says("Really the last one.");
  CHECK(w.ends_of_speech() == 1003);
  w.pass(2s);
  w.brain_says("By the way.");
  CHECK(w.ends_of_speech() == 1003);
}

TEST_CASE("nothing was recognised 15 s after the last pause", "[voice]") {
  session_world w;
  w.speak();
  w.now.boot = w.now.boot + 10s;
  w.speak();
  w.pass(5s); // that of the first pause
  CHECK(w.notices(nothing_recognised_notice) == 0);
  w.pass(10s);
  CHECK(w.notices(nothing_recognised_notice) == 1);
  w.pass(60s);
  CHECK(w.notices(nothing_recognised_notice) == 1);
  w.speak();
  w.pass(15s);
  CHECK(w.notices(nothing_recognised_notice) == 2);
}

TEST_CASE("words that were cancelled are not missed", "[voice]") {
  session_world w;
  w.speak();
  w.cancel_key();
  w.pass(15s);
  CHECK(w.notices(nothing_recognised_notice) == 0);
}

TEST_CASE("a client is told once that the recogniser is behind", "[voice]") {
  session_world w;
  for (int i = 0; i < 600; ++i) w.client(voices::tag::audio, std::string(64000, 'u')); // no worker takes it
  CHECK(std::count_if(w.link->sent.begin(), w.link->sent.end(), [](const auto& f) {
          return f.tag == voices::tag::notice && f.payload.starts_with("the recogniser is minutes behind");
        }) == 1);
}
