// Words around a cancel, as a recogniser without `from` reports them: those before it are discarded however late they
// come, those behind it are heard.
#include <catch2/catch.hpp>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;

namespace {

constexpr char loud = 'u', quiet = '\1'; ///< bytes of samples

struct hearing_world : world {
  /// Says something that the recogniser has not reported yet.
  void talk(char sound = loud) {
    client.begin_talking();
    client.microphone(std::string(320, sound));
    client.end_talking();
    run();
  }
  void bare_cancel() {
    gateway.on_client_message({tag::cancel, {}});
    run();
  }
  void overdue() {
    gateway.words_overdue();
    run();
  }
  std::vector<std::string> prompts() const {
    std::vector<std::string> all;
    for (const auto& f : to_brain)
      if (f.tag == tag::transcript) all.push_back(f.payload);
    return all;
  }
  std::size_t notices(std::string_view notice) const {
    std::size_t n = 0;
    for (const auto& f : received) n += f.tag == tag::notice && f.payload == notice ? 1U : 0U;
    return n;
  }
};

using words = std::vector<std::string>;

} // namespace

TEST_CASE("words that were said before a 07 are discarded, however late they are reported", "[voice]") {
  const bool talks_again = GENERATE(false, true); // before they are reported
  hearing_world w;
  w.talk();
  w.cancel_key();
  REQUIRE(w.count(w.sent, tag::cancel) == 1);
  if (talks_again) w.talk();
  w.recognise("book the", false);
  w.recognise("book the flight", true);
  CHECK(w.exchanges.empty());
  CHECK(w.notices("hearing: book the") == 0);
  if (!talks_again) w.talk();
  w.recognise("next words", true);
  CHECK(w.prompts() == words{"next words"});
}

TEST_CASE("words of an open microphone, without any pause, are discarded like others", "[voice]") {
  hearing_world w;
  w.client.open_microphone();
  w.client.microphone(std::string(320, loud));
  w.run();
  w.bare_cancel();
  w.client.microphone(std::string(320, loud));
  w.run();
  w.recognise("before it", true);
  CHECK(w.prompts().empty());
  w.recognise("behind it", true);
  CHECK(w.prompts() == words{"behind it"});
}

TEST_CASE("two utterances before a 07 are both discarded if nothing was said behind it", "[voice]") {
  hearing_world w;
  w.talk();
  w.talk();
  w.bare_cancel();
  w.recognise("one", true);
  w.recognise("two", true);
  CHECK(w.prompts().empty());
  w.talk();
  w.recognise("three", true);
  CHECK(w.prompts() == words{"three"});
}

TEST_CASE("what was said between two 07s is discarded, too", "[voice]") {
  hearing_world w;
  w.talk();
  w.bare_cancel();
  w.talk();
  w.bare_cancel();
  w.talk();
  w.recognise("one", true);
  w.recognise("two", true);
  CHECK(w.prompts().empty());
  w.recognise("three", true);
  CHECK(w.prompts() == words{"three"});
}

TEST_CASE("an utterance behind a 07 is heard if the recogniser owed nothing", "[voice]") {
  const int before = GENERATE(0, 1, 2, 3);
  hearing_world w;
  if (before == 1) w.talk(quiet); // a key that was pressed by mistake
  if (before == 2) {
    w.talk();
    w.recognise("one", true); // reported in time
  }
  if (before == 3) {
    w.talk();
    w.recognise("", true); // it was nothing
  }
  w.bare_cancel();
  w.talk();
  w.recognise("next words", true);
  REQUIRE_FALSE(w.prompts().empty());
  CHECK(w.prompts().back() == "next words");
}

TEST_CASE("sound before a 07 that is never reported costs no utterance once it is overdue", "[voice]") {
  hearing_world w;
  w.talk();
  w.bare_cancel();
  w.overdue();
  CHECK(w.notices(nothing_recognised_notice) == 0); // what was said is cancelled
  w.recognise("very late", true);
  CHECK(w.prompts().empty());
  w.talk();
  w.recognise("next words", true);
  CHECK(w.prompts() == words{"next words"});
}

TEST_CASE("a client is told of words behind a 07 that came to nothing", "[voice]") {
  hearing_world w;
  w.talk();
  w.bare_cancel();
  w.talk();
  w.recognise("taken for those before it", true);
  w.overdue();
  CHECK(w.notices(nothing_recognised_notice) == 1);
}

TEST_CASE("a stop elsewhere of words that are recognised discards them alone", "[voice]") {
  hearing_world w;
  w.talk();
  w.recognise("tell", false);
  w.stop_elsewhere(1);
  w.talk();
  w.recognise("tell me a story", true);
  CHECK(w.prompts().empty());
  w.recognise("next words", true);
  CHECK(w.prompts() == words{"next words"});
}

TEST_CASE("silence follows each stretch of audio once", "[voice]") {
  gateway_side g;
  const auto silences = [&g] {
    std::size_t n = 0;
    for (const auto& e : g.take()) n += std::holds_alternative<gateway_effects::end_of_speech>(e) ? 1U : 0U;
    return n;
  };
  g.on_client_message({tag::pause, {}});
  CHECK(silences() == 0);
  g.on_client_message({tag::audio, std::string(320, loud)});
  for (int i = 0; i < 100; ++i) g.on_client_message({tag::pause, {}});
  g.on_client_message({tag::cancel, {}});
  CHECK(silences() == 1);
  g.on_client_message({tag::audio, std::string(320, quiet)});
  g.on_client_message({tag::cancel, {}});
  CHECK(silences() == 1);
}

TEST_CASE("audio that the recogniser never got deafens nobody behind a 07", "[voice]") {
  gateway_side g;
  g.on_client_message({tag::audio, std::string(320, loud)});
  for (int i = 0; i < 5; ++i) {
    g.on_client_message({tag::audio, std::string(32000, loud)});
    g.audio_left_out(16000);
  }
  g.on_client_message({tag::cancel, {}});
  if (GENERATE(false, true)) g.audio_left_out(pause_samples); // the silence was lost, too
  CHECK_FALSE(g.on_recognised({"before it", true, {}, 100}));
  g.on_client_message({tag::audio, std::string(320, loud)});
  CHECK(g.on_recognised({"behind it", true, {}, 160 + pause_samples}));
}

TEST_CASE("a recogniser that begins in the middle counts the audio that it was begun for", "[voice]") {
  gateway_side g;
  g.on_client_message({tag::audio, std::string(320, loud)});
  g.on_client_message({tag::cancel, {}});
  g.on_client_message({tag::audio, std::string(320, loud)});
  g.recogniser_begins(160);
  g.on_client_message({tag::cancel, {}});
  CHECK_FALSE(g.on_recognised({"before it", true, {}, 100}));
  g.on_client_message({tag::audio, std::string(320, loud)});
  CHECK(g.on_recognised({"behind it", true, {}, 160 + pause_samples}));
}
