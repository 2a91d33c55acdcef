// [[place]]: settings of a guild or channel, read from the file and printed.
#include <algorithm>
#include <catch2/catch.hpp>

#include "quelld/chat/settings.hpp"
#include "quelld/settings/reach.hpp"
#include "tests/quelld/settings/settings_file.hpp"

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

TEST_CASE("agents, channels and budgets of places are read, printed and refused", "[turns][settings]") {
  const std::string agents = "[[agents]]\nname = \"a\"\n[[agents]]\nname = \"b\"\nscopes = [\"slack\"]\n"
                             "[[agents]]\nname = \"tool\"\ncommand = [\"true\"]\n";
  const std::string place = "[[place]]\nscope = \"discord/g1\"\n";
  const auto s = settings_of(agents + place +
                             "agents = [\"a\"]\nchannels = [\"1\", \"2\"]\n"
                             "budget = { max_cost = 0.5, max_tokens = 1000, model_calls = 7 }\n"
                             "[[place]]\nscope = \"discord/g2\"\nchannels = []\n");
  CHECK(s.chat.places[0].agents == std::vector<std::string>{"a"});
  CHECK(s.chat.places[0].channels == std::vector<std::string>{"1", "2"});
  CHECK(s.chat.places[0].budget == quell::controller::costs::tree_limits{500'000'000, 1000, 7});
  REQUIRE(s.chat.places[1].channels); // closed
  CHECK(s.chat.places[1].channels->empty());
  CHECK(settings_of(turn_settings_text(s)).chat.places == s.chat.places);
  CHECK(says(refusal_of(agents + place + "agents = [\"c\"]\n"), "there is no agent \"c\""));
  CHECK(says(refusal_of(agents + place + "agents = [\"a\", \"a\"]\n"), "twice"));
  CHECK(says(refusal_of(agents + place + "agents = [\"tool\"]\n"), "is a command"));
  CHECK(says(refusal_of(agents + place + "agents = []\n"), "names none"));
  CHECK(says(refusal_of(place + "channels = [\"a/b\"]\n"), "not one segment"));
  CHECK(says(refusal_of(place + "budget = { max_cost = 0 }\n"), "above 0"));
  CHECK(says(refusal_of(place + "budget = { depth = 1 }\n"), "depth"));
  CHECK(says(refusal_of(place + "channel = [\"1\"]\n"), "channels"));
}

TEST_CASE("a guild has a number of slots, and nothing else has one", "[turns][settings]") {
  const auto place = [](const std::string& scope, const std::string& slots) {
    return "[[place]]\nscope = \"" + scope + "\"\nslots = " + slots + "\n";
  };
  const auto s = settings_of(place("discord/g1", "4") + "[[place]]\nscope = \"discord/g2\"\n");
  CHECK(s.chat.places[0].slots == 4);
  CHECK(settings_of(turn_settings_text(s)).chat.places == s.chat.places);
  CHECK(slots_of_guilds(s.chat) == quell::controller::slots_by_guild{{"discord/g1", 4}});
  for (const char* scope : {"discord", "discord/g1/c"})
    CHECK(says(refusal_of(place(scope, "4")), "is a number of a whole guild"));
  for (const char* slots : {"0", "-1", "\"4\"", "1000001"})
    CHECK(says(refusal_of(place("discord/g1", slots)), "slots"));
}

TEST_CASE("languages become their words", "[turns][settings]") {
  const auto s = settings_of("[chat]\nlanguages = [\"de\"]\n[[place]]\nscope = \"discord/g1\"\n"
                             "languages = [\"ru\", \"it\"]\ncancel_words = [\"basta\"]\n");
  const auto has = [](const std::vector<std::string>& all, const std::string& word) {
    return std::count(all.begin(), all.end(), word);
  };
  CHECK(has(s.chat.words.words, "hör auf") == 1);
  CHECK(has(s.chat.words.words, "basta") == 0);
  CHECK(has(s.chat.places[0].words.words, "стоп") == 1);
  CHECK(has(s.chat.places[0].words.words, "basta") == 1);
  const auto again = settings_of(turn_settings_text(s));
  CHECK(again.chat.words == s.chat.words);
  CHECK(again.chat.places == s.chat.places);
  CHECK(says(refusal_of("[chat]\nlanguages = [\"xx\"]\n"), "known are"));
}

TEST_CASE("places where nobody is answered are named", "[turns][settings]") {
  const auto notes = [](const std::string& text) {
    std::string all;
    for (const auto& note : what_cannot_be_reached(settings_of(text))) all += note + "\n";
    return all;
  };
  const std::string agents = "[[agents]]\nname = \"a\"\n[[agents]]\nname = \"b\"\nscopes = [\"slack/T/C\"]\n";
  const auto bad = notes(agents + "[[place]]\nscope = \"discord/g1\"\nagents = [\"b\"]\nchannels = [\"1\"]\n"
                                  "[[place]]\nscope = \"discord/g1/2\"\n");
  CHECK(says(bad, "agent \"b\" serves no scope there"));
  CHECK(says(bad, "\"discord/g1/2\": [[place]] \"discord/g1\" does not list it"));
  CHECK(notes(agents + "[[place]]\nscope = \"slack/T\"\nagents = [\"b\"]\n").empty()); // it serves a part of it
}

TEST_CASE("places that no chat service leads to are named", "[turns][settings]") {
  const auto notes = [](const std::string& text) {
    const file f(text);
    const variables environment{{"TOKEN", "x"}};
    const auto chats = quell::controller::chat::read_chat_settings(f.path, environment);
    INFO((chats ? "" : chats.error().detail));
    REQUIRE(chats);
    return quell::controller::chat::places_without_service(*chats, settings_of(text));
  };
  const std::string discord = "[discord]\ntoken_env = \"TOKEN\"\nguilds = [\"11\"]\n";
  const std::string places = "[[place]]\nscope = \"discord/11\"\n[[place]]\nscope = \"discord/12/c\"\n"
                             "[[place]]\nscope = \"slack/T\"\n[[place]]\nscope = \"team/a\"\n";
  const auto found = notes(discord + places);
  REQUIRE(found.size() == 2);
  CHECK(says(found[0], "[discord] guilds does not list 12"));
  CHECK(says(found[1], "there is no [slack]"));
  CHECK(notes(discord + "users = [\"5\"]\n" + "[[place]]\nscope = \"discord/12\"\n").empty());
}
