// The list of an MCP server's tools: pages, limits, changes.
#include "tests/integrations/mcp/mcp_talk.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

json page(std::vector<json> tools, const std::string& next = {}) {
  json made{{"tools", std::move(tools)}};
  if (!next.empty()) made["nextCursor"] = next;
  return made;
}

struct listing : mcp_talk {
  listing() { shake(); }
  /// The answer to the last request.
  void give(const json& result) { answer(wrote.back()["id"], result); }
  std::vector<mcp_tool> tools() const {
    const auto lists = all<mcp_effects::list>();
    REQUIRE(!lists.empty());
    REQUIRE(lists.back().tools);
    return *lists.back().tools;
  }
};

void changed(mcp_talk& talk) { talk.hear(json{{"jsonrpc", "2.0"}, {"method", "notifications/tools/list_changed"}}); }

} // namespace

TEST_CASE("tools come with what the server says of them") {
  listing talk;
  talk.list();
  json writer = tool("write");
  writer["annotations"] = {{"readOnlyHint", false}, {"destructiveHint", true}, {"title", "Write it"}};
  json reader = tool("read");
  reader["annotations"] = {{"readOnlyHint", true}, {"title", "not this"}};
  reader["title"] = "Read it";
  talk.give(page({writer, reader, tool("plain")}));
  const auto tools = talk.tools();
  REQUIRE(tools.size() == 3);
  CHECK(tools[0] == mcp_tool{"write", "does write", R"({"type":"object"})", false, true, "Write it"});
  CHECK(tools[1] == mcp_tool{"read", "does read", R"({"type":"object"})", true, false, "Read it"});
  CHECK(tools[2] == mcp_tool{"plain", "does plain", R"({"type":"object"})", false, false, ""});
}

TEST_CASE("pages are followed, several askers get one answer, and asking again costs nothing") {
  listing talk;
  talk.list();
  talk.list();
  talk.give(page({tool("a")}, "c1"));
  CHECK(talk.wrote.back()["params"]["cursor"] == "c1");
  talk.list();
  talk.give(page({tool("b")}, "c2"));
  talk.give(page({tool("c")}));
  CHECK(talk.all<mcp_effects::list>().size() == 1);
  CHECK(talk.tools().size() == 3);
  const auto before = talk.wrote.size();
  talk.list();
  CHECK(talk.wrote.size() == before);
  CHECK(talk.all<mcp_effects::list>().size() == 2);
}

TEST_CASE("a change is told and the next asker gets the new list; one in the middle of listing begins it anew") {
  listing talk;
  talk.list();
  talk.give(page({tool("old")}));
  changed(talk);
  CHECK(talk.all<mcp_effects::tools_changed>().size() == 1);
  talk.list();
  talk.give(page({tool("new")}, "more"));
  changed(talk);
  talk.give(page({tool("new2")}));
  CHECK(talk.all<mcp_effects::list>().size() == 1);
  talk.give(page({tool("newest")}));
  REQUIRE(talk.tools().size() == 1);
  CHECK(talk.tools()[0].name == "newest");
}

TEST_CASE("tools that change whenever they are listed are told as they are, after some tries") {
  listing talk;
  talk.list();
  for (int i = 0; i < 20 && talk.all<mcp_effects::list>().empty(); ++i) {
    changed(talk);
    talk.give(page({tool("t" + std::to_string(i))}));
  }
  CHECK(talk.tools().size() == 1);
  talk.list();
  CHECK(talk.wrote.back()["method"] == "tools/list"); // the list was not kept
  talk.give(page({tool("a")}));
  CHECK(talk.tools()[0].name == "a");
}

TEST_CASE("1,000 tools are read and no more, with a complaint") {
  listing talk;
  talk.list();
  std::vector<json> many;
  for (int i = 0; i < 1500; ++i) many.push_back(tool("t" + std::to_string(i)));
  talk.give(page(many, "more"));
  CHECK(talk.tools().size() == 1000);
  CHECK_FALSE(talk.all<mcp_effects::bad_message>().empty());
}

TEST_CASE("pages that never end, and cursors that run in a circle, end") {
  listing endless;
  endless.list();
  for (int i = 0; i < 200 && endless.all<mcp_effects::list>().empty(); ++i)
    endless.give(page({tool("t" + std::to_string(i))}, "c" + std::to_string(i)));
  CHECK(endless.tools().size() == 100);
  listing circle;
  circle.list();
  circle.give(page({tool("a")}, "c"));
  circle.give(page({tool("b")}, "c"));
  CHECK(circle.tools().size() == 2);
}

TEST_CASE("what is not a tool is left out, the rest stays") {
  listing talk;
  talk.list();
  json no_schema = tool("no_schema");
  no_schema["inputSchema"] = "none";
  json long_one = tool("long");
  long_one["description"] = std::string(100'000, 'd');
  json huge_schema = tool("huge");
  huge_schema["inputSchema"]["description"] = std::string(200'000, 'd');
  talk.give(page({tool(""), tool(std::string(129, 'n')), tool("good"), tool("good"), no_schema, json(5), json::array(),
                  long_one, huge_schema}));
  const auto tools = talk.tools();
  REQUIRE(tools.size() == 2);
  CHECK(tools[0].name == "good");
  CHECK(tools[1].name == "long");
  CHECK(tools[1].description.size() < 17'000);
  CHECK(talk.all<mcp_effects::bad_message>().size() == 7);
}

TEST_CASE("a server without tools has none; an error and nonsense are faults and asked for anew") {
  listing without;
  without.list();
  without.refuse(without.wrote.back()["id"], -32601, "Method not found");
  CHECK(without.tools().empty());
  listing talk;
  talk.list();
  talk.refuse(talk.wrote.back()["id"], -32603, "database is down");
  CHECK_THAT(talk.all<mcp_effects::list>().back().tools.error().detail, Catch::Contains("database is down"));
  talk.list();
  talk.give(json{{"tools", 5}});
  CHECK(talk.all<mcp_effects::list>().back().tools.error().code == "mcp_broken");
  talk.list();
  talk.close();
  CHECK(talk.all<mcp_effects::list>().back().tools.error().code == "mcp_unreachable");
  talk.list();
  CHECK(talk.all<mcp_effects::list>().size() == 4);
}
