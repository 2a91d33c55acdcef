// Remote agents as tools: who is offered them, their rules and limits, and their calls after a restart.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "actors/turns/approval.hpp"
#include "actors/turns/left_work.hpp"
#include "actors/turns/mcp_tools.hpp"
#include "actors/turns/sub_agent_rights.hpp"
#include "actors/turns/turn_json.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace std::chrono_literals;

namespace {

turn_settings with_travel() {
  turn_settings s;
  s.mcp.resize(2);
  s.mcp[0].name = "travel"; // an MCP server of the same name is another one
  s.mcp[1].name = "a2a:travel";
  s.mcp[1].url = "http://h";
  s.mcp[1].timeout = 30s;
  return s;
}

tool_definition travel_tool(const turn_settings& s) {
  return mcp_tool_definition(s, "a2a:travel", {"send", "Books.", R"({"type":"object"})", false, false});
}

agent_settings agent_with(std::optional<std::vector<std::string>> tools) {
  agent_settings a;
  a.name = "a";
  a.tools = std::move(tools);
  return a;
}

} // namespace

TEST_CASE("only agents that name a remote agent are offered it", "[turns][a2a]") {
  const auto s = with_travel();
  const auto tool = travel_tool(s);
  CHECK(tool.offer.name == "a2a__travel");
  CHECK(tool.is_remote_agent());
  const auto offered = [&](std::optional<std::vector<std::string>> tools) {
    return tools_for(s, agent_with(std::move(tools)), {tool}).find("a2a__travel") != nullptr;
  };
  CHECK(offered({{"a2a:travel"}}));
  CHECK(offered({{"a2a__travel"}}));
  CHECK_FALSE(offered({{"mcp:travel", "exec"}}));
  CHECK_FALSE(offered(std::nullopt));
  CHECK(mcp_servers_of(s, agent_with({{"a2a:travel"}})) == std::vector<std::string>{"a2a:travel"});
  CHECK(mcp_servers_of(s, agent_with({{"mcp:travel"}})) == std::vector<std::string>{"travel"});
  CHECK_FALSE(not_owned({"a2a__travel"}, {"a2a:travel"}));
  CHECK_FALSE(not_owned({"a2a:travel"}, {"a2a__travel"}));
  CHECK(not_owned({"a2a:travel"}, {"a2a__travels"}) == "a2a:travel");
  CHECK(not_owned({"a2a__travel"}, {"mcp:travel", "exec"}) == "a2a__travel");
}

TEST_CASE("a remote agent's own timeout, and the one of the tools", "[turns][a2a]") {
  auto s = with_travel();
  CHECK(travel_tool(s).timeout == 30s);
  s.timeouts["mcp:travel"] = 1s;
  CHECK(travel_tool(s).timeout == 30s);
  s.timeouts["a2a:travel"] = 5s;
  CHECK(travel_tool(s).timeout == 5s);
}

TEST_CASE("an approval rule names a remote agent", "[turns][a2a][approval]") {
  const std::vector<approval_rule> rules{{"a2a:travel", ""}};
  CHECK_FALSE(rule_for(rules, "a2a__travel", R"({"message":"x"})").empty());
  CHECK(rule_for(rules, "a2a__traveller", R"({"message":"x"})").empty());
  CHECK(rule_for(rules, "mcp__travel__send", "{}").empty());
}

TEST_CASE("a remote task that was named is followed after a restart, another is unknown", "[turns][a2a]") {
  const auto s = with_travel();
  tool_set tools;
  tools.tools.push_back(travel_tool(s));
  const auto event = call_named({"c1", "a2a__travel", "{}"}, "task-7");
  CHECK(event.type == event_type::tool_progress);
  CHECK(task_named_by(event.data) == "task-7");
  for (const auto* other : {"", "[]", "{}", R"({"remote_task":5})"}) CHECK(task_named_by(other).empty());
  left_work left;
  for (const auto* id : {"c1", "c2"}) {
    left_call call;
    call.operation = operation_id::fresh();
    call.call = id;
    call.name = "a2a__travel";
    call.now = status::running;
    left.calls.push_back(std::move(call));
  }
  left.calls[0].remote_task = task_named_by(event.data);
  model_history reported;
  const auto plan = plan_resume(reported, left, tools, moment{});
  CHECK(plan.names == std::map<operation_id, std::string>{{left.calls[0].operation, "task-7"}});
  CHECK(plan.unknown == std::vector<operation_id>{left.calls[1].operation});
  CHECK(plan.adopted.empty());
  // Without its tool nobody can ask for it.
  model_history again;
  CHECK(plan_resume(again, left, tool_set{}, moment{}).unknown.size() == 2);
}
