// Parts of `quell talk`: addresses, keys, the level meter, the rule of an open microphone.
#include <catch2/catch.hpp>

#include "cli/talk/level_meter.hpp"
#include "cli/talk/open_microphone.hpp"
#include "cli/talk/talk_keys.hpp"
#include "cli/talk/voice_address.hpp"

using namespace quell::cli;
using namespace std::string_literals;

TEST_CASE("a voice gateway's address says whether it has TLS, or leaves it to the caller", "[talk]") {
  const auto plain = read_voice_address("127.0.0.1:7713", false);
  REQUIRE(plain);
  CHECK(plain->text() == "tcp://127.0.0.1:7713");
  CHECK(read_voice_address("127.0.0.1:7713", true)->is_tls);
  CHECK(read_voice_address("tls://voice.example:7713", false)->is_tls);
  CHECK_FALSE(read_voice_address("tcp://voice.example:7713", true)->is_tls);
  CHECK(read_voice_address("tls://[::1]:7713", false)->host == "::1");
  for (const char* bad :
       {"", "host", "host:", ":1", "http://host:1", "host:port", "host:123456", "tls://", "tls://host"})
    CHECK_FALSE(read_voice_address(bad, true));
}

TEST_CASE("keys come singly, and arrows are not the key Esc", "[talk]") {
  CHECK(keys_in(" 4q") == " 4q");
  CHECK(keys_in("\x1b") == "\x1b");
  CHECK(keys_in("\x1b[A") == "");
  CHECK(keys_in("\x1b[1;5Cx\x1bOP\x1b") == "x\x1b");
  CHECK(keys_in("\x1b\x1b") == "\x1b\x1b");
  CHECK(keys_in("\x1b[") == "");
  CHECK(key_named("space") == ' ');
  CHECK(key_named("esc") == escape_key);
  CHECK(key_named("x") == 'x');
  for (const char* bad : {"", "xy", "\x01", "ctrl-c"}) CHECK_FALSE(key_named(bad));
  CHECK(name_of_key(' ') == "space");
  CHECK(name_of_key('x') == "x");
}

TEST_CASE("the level meter shows the peak in decibels", "[talk]") {
  CHECK(peak_db("") == -96);
  CHECK(peak_db("\0\0\0\0"s) == -96);
  CHECK(peak_db("\xff\x7f"s) > -0.1);
  CHECK(peak_db("\x00\x80"s) == 0); // the most negative sample
  CHECK(peak_db("\x00\x40\x00\x00"s) == Approx(-6.02).margin(0.01));
  CHECK(meter(-96, 10) == "[----------]");
  CHECK(meter(-30, 10) == "[#####-----]");
  CHECK(meter(0, 10) == "[##########]");
}

TEST_CASE("without echo cancellation the microphone is deaf while something plays and 300 ms longer", "[talk]") {
  using std::chrono::milliseconds;
  half_duplex gate;
  const half_duplex::instant now{milliseconds{1000}};
  CHECK(gate.may_hear(now));
  gate.sounds(now);
  CHECK_FALSE(gate.may_hear(now));
  CHECK_FALSE(gate.may_hear(now + milliseconds{299}));
  CHECK(gate.may_hear(now + milliseconds{300}));
  gate.sounds(now + milliseconds{200});
  CHECK_FALSE(gate.may_hear(now + milliseconds{300}));
}
