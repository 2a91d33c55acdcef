// The section [voice]: commands, and servers in their place.
#include <catch2/catch.hpp>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "quelld/settings/voice_settings.hpp"

using namespace quell;
using namespace quell::controller::voice;

namespace {

result<voice_settings> read(const std::string& toml) {
  const auto path = "/tmp/quell-voice-settings-" + std::to_string(::getpid()) + ".toml";
  std::ofstream(path) << toml;
  auto s = read_voice_settings(path);
  std::remove(path.c_str());
  return s;
}

std::string error_of(const std::string& toml) {
  const auto s = read(toml);
  return s ? "" : s.error().detail;
}

} // namespace

TEST_CASE("a server that hears and speaks stands for a command", "[voice]") {
  const auto s = read("[voice]\nlisten = \"127.0.0.1:0\"\n"
                      "[voice.hear]\nurl = \"http://h:1/v1/\"\nmodel = \"m\"\nlanguage = \"en\"\nkey_file = \"/k\"\n"
                      "[voice.speak]\nurl = \"https://s/v1\"\nmodel = \"t\"\nvoice = \"nova\"\n");
  REQUIRE(s);
  CHECK(s->hear == std::vector<std::string>{"quell-ear", "--url", "http://h:1/v1", "--model", "m", "--language", "en",
                                            "--key-file", "/k"});
  REQUIRE(s->speak.size() > 5);
  CHECK(s->speak[0] == "bash");
  CHECK(s->speak[4].find("-r 24000") != std::string::npos);
  CHECK(std::vector(s->speak.begin() + 5, s->speak.end()) ==
        std::vector<std::string>{"quell-mouth", "--url", "https://s/v1", "--model", "t", "--voice", "nova", "--speed",
                                 "{speed}"});
  CHECK(s->text.find("url = \"http://h:1/v1/\"") != std::string::npos);
  const auto again = read(s->text);
  REQUIRE(again);
  CHECK(again->hear == s->hear);
  CHECK(again->speak == s->speak);
}

TEST_CASE("the places of clients have limits, in all and by token", "[voice]") {
  const auto usual = read("[voice]\n"), given = read("[voice]\nclients = 4\nclients_per_token = 3\n");
  REQUIRE(usual);
  CHECK(usual->clients == 16);
  CHECK(usual->clients_per_token == 8);
  REQUIRE(given);
  CHECK(given->clients_per_token == 3);
  const auto again = read(given->text);
  REQUIRE(again);
  CHECK(again->clients_per_token == 3);
  CHECK(error_of("[voice]\nclients_per_token = 0\n").find("clients_per_token") != std::string::npos);
}

TEST_CASE("a server at our rate needs no conversion, and one without confidence is asked for less", "[voice]") {
  const auto s = read("[voice.hear]\nurl = \"http://h/v1\"\nmodel = \"m\"\nconfidence = false\n"
                      "[voice.speak]\nurl = \"http://s/v1\"\nmodel = \"t\"\nrate = 16000\n[voice]\n");
  REQUIRE(s);
  CHECK(s->hear.back() == "yes");
  CHECK(s->speak.front() == "quell-mouth");
}

TEST_CASE("a server that is not one is an error with its line", "[voice]") {
  CHECK(error_of("[voice.hear]\nurl = \"ftp://h\"\nmodel = \"m\"\n").find("is not an http or https URL") !=
        std::string::npos);
  CHECK(error_of("[voice.hear]\nurl = \"http://h\"\n").find("model") != std::string::npos);
  CHECK(error_of("[voice.hear]\nurl = \"http://h\"\nmodel = \"m\"\ncommand = [\"x\"]\n").find("keep one of them") !=
        std::string::npos);
  CHECK(error_of("[voice.speak]\nurl = \"http://h\"\nmodel = \"m\"\nrate = 1\n").find("rate") != std::string::npos);
  CHECK(error_of("[voice.speak]\nurl = \"http://h\"\nmodel = \"m\"\nlanguage = \"en\"\n").find("language") !=
        std::string::npos);
}
