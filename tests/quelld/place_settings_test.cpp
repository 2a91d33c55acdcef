// [[place]]: settings of a guild or channel, read from the file and printed.
#include <catch2/catch.hpp>

#include "tests/quelld/settings_file.hpp"

using namespace quell::controller::turns;
using namespace quell::testing;

TEST_CASE("places are read, printed and refused", "[turns][settings]") {
  const std::string text =
      "[[place]]\nscope = \"discord/g1\"\ncancel_words = [\"basta\"]\nlead_ins = [\"ora\"]\nfollowers = "
      "[\"subito\"]\nbot_names = [\"robby\"]\napprovers = [\"discord:1\"]\napprove_own = true\n"
      "[[place]]\nscope = \"discord/g2\"\napprovers = []\n";
  const auto s = settings_of(text);
  REQUIRE(s.chat.places.size() == 2);
  CHECK(s.chat.places[0].words.words == std::vector<std::string>{"basta"});
  CHECK(s.chat.places[0].approve_own == true);
  REQUIRE(s.chat.places[1].approvers); // nobody there
  CHECK(s.chat.places[1].approvers->empty());
  CHECK(settings_of(turn_settings_text(s)).chat.places == s.chat.places);
  CHECK(says(refusal_of("[[place]]\ncancel_words = [\"x\"]\n"), "must be the scope of a place"));
  CHECK(says(refusal_of("[[place]]\nscope = \"a\"\n[[place]]\nscope = \"a\"\n"), "has two [[place]]"));
  CHECK(says(refusal_of("[[place]]\nscope = \"a\"\napprovers = [\"token:x\"]\n"), "name it in [chat]"));
  CHECK(says(refusal_of("[[place]]\nscope = \"a\"\ncancel_word = [\"x\"]\n"), "cancel_words"));
}
