// The places at which two configurations differ, and which of them a reload can change.
#include <catch2/catch.hpp>

#include "quelld/changed_settings.hpp"

using namespace quell::controller;
using places = std::vector<std::string>;

namespace {

places changed(const std::string& before, const std::string& after) {
  const auto found = changed_settings(before, after);
  REQUIRE(found);
  return *found;
}

} // namespace

TEST_CASE("equal configurations differ nowhere", "[quelld][reload]") {
  const std::string text = "[log]\nlevel = \"info\" # chatty\n\n[[agents]]\nname = \"a\"\nbudget = { depth = 3 }\n";
  CHECK(changed(text, text).empty());
  CHECK(changed(text, "[[agents]]\nbudget = { depth = 3 }\nname = \"a\"\n[log]\nlevel = \"info\"\n").empty());
}

TEST_CASE("entries of lists go by their names, so that an order changes nothing", "[quelld][reload]") {
  const std::string a = "[[agents]]\nname = \"a\"\n", b = "[[agents]]\nname = \"b\"\ntools = [\"exec\"]\n";
  CHECK(changed(a + b, b + a).empty());
  CHECK(changed(a, a + b) == places{"agents.b"});
  CHECK(changed(a + b, a) == places{"agents.b"});
  CHECK(changed(a + b, a + "[[agents]]\nname = \"b\"\ntools = []\n") == places{"agents.b.tools"});
}

TEST_CASE("places without a name go by scope or by number", "[quelld][reload]") {
  CHECK(changed("[[place]]\nscope = \"d/g\"\napprove_own = true\n",
                "[[place]]\nscope = \"d/g\"\napprove_own = false\n") == places{"place.d/g.approve_own"});
  CHECK(changed("[[approval]]\ntool = \"exec\"\n", "[[approval]]\ntool = \"exec\"\n[[approval]]\ntool = \"edit\"\n") ==
        places{"approval.2"});
}

TEST_CASE("values inside a table of an entry are places too", "[quelld][reload]") {
  CHECK(changed("[[agents]]\nname = \"a\"\nbudget = { depth = 3, width = 8 }\n",
                "[[agents]]\nname = \"a\"\nbudget = { depth = 2, width = 8 }\n") == places{"agents.a.budget.depth"});
}

TEST_CASE("a reload takes agents, models, words and the log level, and nothing that a process has opened",
          "[quelld][reload]") {
  for (const char* place : {"log.level", "agents.a.tools", "models.m", "approval.1", "tools.timeouts.exec",
                            "chat.cancel_words", "place.discord/g1.approvers"})
    CHECK(can_be_reloaded(place));
  for (const char* place : {"http.listen", "log.format", "mcp.web", "discord.token_env", "store.dir", "chatter.x",
                            "limits.operations", "voice.listen"})
    CHECK_FALSE(can_be_reloaded(place));
}
