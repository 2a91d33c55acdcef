// The section [web_search]: read, printed without the key, and refused.
#include <catch2/catch.hpp>

#include "actors/turns/tool_catalogue.hpp"
#include "tests/quelld/settings/settings_file.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace quell::testing;
using provider = integrations::search_settings::provider;

TEST_CASE("a search service is configured with its address or its key", "[turns][settings][search]") {
  CHECK(settings_of("").web_search.by == provider::none);
  const file key("the-secret-key\n");
  const auto section = "[web_search]\nprovider = \"brave\"\nkey_file = \"" + key.path + "\"\n";
  const auto s = settings_of(section);
  CHECK(s.web_search.by == provider::brave);
  CHECK(s.web_search.key == "the-secret-key");
  const auto printed = turn_settings_text(s);
  CHECK(printed.find("the-secret-key") == std::string::npos);
  CHECK(settings_of(printed).web_search == s.web_search);
  const auto own = settings_of("[web_search]\nprovider = \"searxng\"\nurl = \"http://127.0.0.1:8080\"\n");
  CHECK(own.web_search.url == "http://127.0.0.1:8080");
  CHECK(own.web_search.key.empty());
}

TEST_CASE("a search service that cannot work is refused", "[turns][settings][search]") {
  const std::string section = "[web_search]\n";
  CHECK(says(refusal_of(section), "searxng, brave or tavily"));
  CHECK(says(refusal_of(section + "provider = \"bing\"\n"), "searxng, brave or tavily"));
  CHECK(says(refusal_of(section + "provider = \"searxng\"\n"), "address of your SearXNG"));
  CHECK(says(refusal_of(section + "provider = \"searxng\"\nurl = \"ftp://x\"\n"), "http://"));
  CHECK(says(refusal_of(section + "provider = \"searxng\"\nurl = \"http://a:b@x\"\n"), "plain address"));
  CHECK(says(refusal_of(section + "provider = \"tavily\"\n"), "key_file"));
  CHECK(says(refusal_of(section + "provider = \"tavily\"\nkey_file = \"/nowhere/at/all\"\n"), "/nowhere/at/all"));
  CHECK(says(refusal_of(section + "provider = \"searxng\"\nurl = \"http://x\"\nkye_file = \"x\"\n"), "key_file"));
  CHECK(says(refusal_of("web_search = 3\n"), "write [web_search]"));
}

TEST_CASE("only an agent that names web_search has it, and only where it is configured", "[turns][settings][search]") {
  const std::string agent = "[[agents]]\nname = \"a\"\ntools = [\"web_search\"]\n";
  CHECK(says(refusal_of(agent), "needs the section [web_search]"));
  const auto s =
      settings_of("[web_search]\nprovider = \"searxng\"\nurl = \"http://x\"\n[[agents]]\nname = \"all\"\n" + agent);
  const auto has = [&](std::size_t i) { return tools_for(s, s.agents.at(i), {}).find("web_search") != nullptr; };
  CHECK_FALSE(has(0));
  CHECK(has(1));
}
