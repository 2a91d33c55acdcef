// Settings of places: agents, channels, budgets, words, and look-ups among thousands of them.
#include <catch2/catch.hpp>
#include <set>

#include "actors/turns/settings.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

scope_path at(const std::string& text) { return scope_path::parse(text).value(); }

place_settings place(const std::string& scope) {
  place_settings p;
  p.scope = at(scope);
  return p;
}

agent_settings agent(const std::string& name, const std::vector<scope_path>& scopes = {}) {
  agent_settings a;
  a.name = name;
  a.scopes = scopes;
  return a;
}

std::string answers(const turn_settings& s, const std::string& scope, const std::optional<std::string>& named = {}) {
  const auto* found = agent_for(s, at(scope), named);
  return found ? found->name : "";
}

} // namespace

TEST_CASE("a place has agents of its own, and the narrowest place decides", "[places]") {
  turn_settings s;
  s.agents = {agent("general"), agent("support"), agent("coder"), agent("elsewhere", {at("slack")})};
  auto guild = place("discord/g1"), channel = place("discord/g1/code");
  guild.agents = {"elsewhere", "support", "general"};
  channel.agents = {"coder"};
  s.chat.places = {channel, guild};
  CHECK(answers(s, "discord/g2/c") == "general");
  CHECK(answers(s, "discord/g1/c") == "support"); // the first does not serve it
  CHECK(answers(s, "discord/g1/c", "general") == "general");
  CHECK(answers(s, "discord/g1/c", "coder").empty());
  CHECK(answers(s, "discord/g1/code/thread") == "coder");
  CHECK(answers(s, "discord/g1/code", "support").empty());
  CHECK(answers(s, "discord/g10/c", "coder") == "coder");
}

TEST_CASE("a channel is open if every place above it lists it", "[places]") {
  chat_options chat;
  auto guild = place("discord/g1"), channel = place("discord/g1/c1"), shut = place("discord/g2");
  guild.channels = std::vector<std::string>{"c1", "c2"};
  channel.channels = std::vector<std::string>{"t1"};
  shut.channels = std::vector<std::string>{};
  chat.places = {guild, channel, shut};
  const auto closes = [&](const std::string& scope) {
    const auto* by = closed_by(chat, at(scope));
    return by ? by->scope.text() : "";
  };
  CHECK(closes("discord/g1").empty());
  CHECK(closes("discord/g1/c1").empty());
  CHECK(closes("discord/g1/c1/t1/deeper").empty());
  CHECK(closes("discord/g1/c1/t2") == "discord/g1/c1");
  CHECK(closes("discord/g1/c2/t2").empty());
  CHECK(closes("discord/g1/c3") == "discord/g1");
  CHECK(closes("discord/g1/c10") == "discord/g1");
  CHECK(closes("discord/g2/any") == "discord/g2");
  CHECK(closes("discord/g3/any").empty());
}

TEST_CASE("the smallest budget along the way holds", "[places]") {
  chat_options chat;
  auto guild = place("discord/g1"), channel = place("discord/g1/c1");
  guild.budget = {1'000, 500, 0};
  channel.budget = {2'000, 100, 7};
  chat.places = {guild, channel};
  CHECK(limits_in(chat, at("discord/g2"), {0, 0, 100}) == costs::tree_limits{0, 0, 100});
  CHECK(limits_in(chat, at("discord/g1/c2"), {0, 0, 100}) == costs::tree_limits{1'000, 500, 100});
  CHECK(limits_in(chat, at("discord/g1/c1/t"), {10, 0, 100}) == costs::tree_limits{10, 100, 7});
}

TEST_CASE("places with the same words share them, and thousands with names of their own are told apart", "[places]") {
  chat_options chat;
  constexpr int guilds = 4000;
  for (int i = 0; i < guilds; ++i) {
    auto p = place("discord/g" + std::to_string(i));
    if (i % 2 == 0) p.words.words = {"basta"};
    if (i == 17) p.bot_names = {"robby"};
    if (i % 10 == 3) p.approve_own = true; // no words of its own
    chat.places.push_back(p);
  }
  const words_by_place words(chat);
  const auto words_in = [&](int guild) -> const auto& {
    return words.of(at("discord/g" + std::to_string(guild) + "/c/t"));
  };
  const auto stops = [&](int guild, const std::string& text) { return words_in(guild).find(text, {}).has_value(); };
  std::set<const void*> vocabularies;
  for (int i = 0; i < guilds; ++i) vocabularies.insert(&words_in(i));
  CHECK(vocabularies.size() == 3); // everywhere, with basta, with robby
  for (int i = 0; i < guilds; i += 97) {
    CHECK(stops(i, "basta") == (i % 2 == 0));
    CHECK(stops(i, "stop"));
    CHECK(stops(i, "robby stop") == (i == 17));
  }
  CHECK(stops(17, "robby stop"));
  CHECK(options_in(chat, at("discord/g3/c")).approve_own);
  CHECK_FALSE(options_in(chat, at("discord/g4/c")).approve_own);
}

TEST_CASE("a copy of places keeps what it had", "[places]") {
  place_list one;
  CHECK(one.empty());
  CHECK(one.find("a") == nullptr);
  CHECK(one.above(at("a/b")).empty());
  one.push_back(place("a"));
  auto other = one;
  other.push_back(place("a/b"));
  CHECK(one.size() == 1);
  CHECK(other.size() == 2);
  CHECK_FALSE(one == other);
  const auto above = other.above(at("a/b/c"));
  REQUIRE(above.size() == 2);
  CHECK(above[0]->scope.text() == "a"); // the widest first
  CHECK(other.above(at("ab")).empty());
}
