// Answers of a transcription server, and the flags of quell-ear and quell-mouth.
#include <catch2/catch.hpp>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "integrations/voice/ear/flags.hpp"
#include "integrations/voice/ear/phones.hpp"
#include "integrations/voice/ear/web_transcriber.hpp"

using namespace quell;
using namespace quell::ear;

TEST_CASE("a transcript's confidence is the mean probability of its tokens, less what may be silence", "[voice]") {
  const auto plain = read_transcript(R"({"text":"  hello there\n"})");
  REQUIRE(plain);
  CHECK(plain->text == "hello there");
  CHECK_FALSE(plain->confidence);
  const auto sure = read_transcript(
      R"({"text":"a","segments":[{"start":0,"end":1,"avg_logprob":-0.1},{"start":1,"end":4,"avg_logprob":-0.5}]})");
  REQUIRE(sure);
  CHECK(*sure->confidence == Approx(std::exp(-0.4)));
  const auto silent =
      read_transcript(R"({"text":"a","segments":[{"start":0,"end":1,"avg_logprob":0,"no_speech_prob":0.9}]})");
  REQUIRE(silent);
  CHECK(*silent->confidence == Approx(0.1));
  CHECK_FALSE(read_transcript(R"({"text":"a","segments":[{}]})")->confidence);
  CHECK_FALSE(read_transcript(R"({"text":"a","segments":["x"]})")->confidence);
  CHECK(read_transcript(R"({"text":"a","segments":[{"end":"x","start":[],"avg_logprob":0}]})")->confidence == 1.0);
  for (const char* bad : {"", "[]", "{}", R"({"text":1})", "<html>"}) CHECK_FALSE(read_transcript(bad));
}

TEST_CASE("flags are pairs of known names and values, and a key is one line without white space", "[voice]") {
  const auto of = [](std::vector<std::string> words) {
    std::vector<char*> pointers{nullptr};
    for (auto& word : words) pointers.push_back(word.data());
    return read_flags(static_cast<int>(pointers.size()), pointers.data(), {"url", "key-file"});
  };
  CHECK(of({}) == flag_values{});
  CHECK(*of({"--url", "http://h"}) == flag_values{{"url", "http://h"}});
  CHECK_FALSE(of({"--url"}));
  CHECK_FALSE(of({"--other", "x"}));
  CHECK_FALSE(of({"url", "x"}));
  const auto asks = [](std::vector<std::string> words) {
    std::vector<char*> pointers{nullptr};
    for (auto& word : words) pointers.push_back(word.data());
    return wants_help(static_cast<int>(pointers.size()), pointers.data());
  };
  CHECK(asks({"--help"}));
  CHECK(asks({"--url", "http://h", "-h"}));
  CHECK_FALSE(asks({}));
  CHECK_FALSE(asks({"--url", "http://h"}));
  const auto path = "/tmp/quell-ear-key-" + std::to_string(::getpid());
  const auto key_in = [&path](const std::string& text) {
    std::ofstream(path) << text;
    auto key = key_of({{"key-file", path}});
    std::remove(path.c_str());
    return key;
  };
  CHECK(*key_of({}) == "");
  CHECK(*key_in("sesame\nmore\n") == "sesame");
  CHECK_FALSE(key_in(""));
  CHECK_FALSE(key_in("two words\n"));
  CHECK_FALSE(key_of({{"key-file", path + "-absent"}}));
}

TEST_CASE("what sounds alike is near, what does not is far", "[voice]") {
  const auto of = [](const std::string& text) {
    phones all;
    std::istringstream in(text);
    for (std::string one; in >> one;) all.push_back(one);
    return all;
  };
  const auto stop_it = of("S T AA P IH T"), topic = of("T AA P IH K");
  CHECK(phone_distance(stop_it, stop_it) == 0);
  CHECK(phone_distance({}, {}) == 0);
  CHECK(phone_distance(stop_it, {}) == 1);
  CHECK(phone_distance(of("AA"), of("AO")) == 0.5);
  CHECK(phone_distance(of("D"), of("T")) == Approx(0.4));
  CHECK(phone_distance(of("D"), of("S")) == 1);
  CHECK(phone_distance(stop_it, topic) == Approx(2.0 / 6)); // an S less, and a K for the T
  CHECK(phone_distance(stop_it, topic) == phone_distance(topic, stop_it));
  CHECK(phone_distance(stop_it, of("DH AH W EH DH ER")) > 0.5);
}
