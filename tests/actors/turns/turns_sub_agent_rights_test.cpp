// Rights of a sub-agent, compared with its parent's.
#include <catch2/catch.hpp>

#include "actors/turns/sub_agent_rights.hpp"

using namespace quell;
using namespace quell::controller::turns;

namespace {

agent_settings named(const std::string& name, std::optional<std::vector<std::string>> tools = {}) {
  agent_settings a;
  a.name = name;
  a.tools = std::move(tools);
  return a;
}

/// "" = allowed.
std::string refusal(const agent_settings& parent, const agent_settings& child) {
  const auto made = within_rights_of(parent, child);
  if (made) return {};
  CHECK(made.error().code == "invalid_input");
  return made.error().detail;
}

bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("\"" << part << "\" in: " << text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a sub-agent has no tool that its parent has not, unless the parent's configuration lists it",
          "[turns][rights]") {
  auto chat = named("chat", {{"read", "spawn_agent", "mcp:files"}});
  CHECK(refusal(chat, named("a", {{"read"}})).empty());
  CHECK(refusal(chat, named("a", {{"mcp__files__get", "mcp:files"}})).empty());
  CHECK(says(refusal(chat, named("ops", {{"read", "exec"}})), "ops has the tool exec"));
  CHECK(says(refusal(chat, named("ops")), "which agent chat may not")); // no list of tools: all built-in ones
  CHECK(says(refusal(chat, named("a", {{"mcp:file"}})), "mcp:file"));
  CHECK(says(refusal(chat, named("a", {{"mcp__filesystem__get"}})), "mcp__filesystem__get"));
  CHECK(says(refusal(named("b", {{"mcp__files__get"}}), named("a", {{"mcp:files"}})), "mcp:files"));
  CHECK(says(refusal(named("all"), named("a", {{"mcp:files"}})), "mcp:files")); // no MCP tools unless named
  CHECK(refusal(named("none", std::vector<std::string>{}), named("a", std::vector<std::string>{})).empty());
  chat.may_spawn = {"ops"};
  const auto ops = within_rights_of(chat, named("ops"));
  REQUIRE(ops);
  CHECK_FALSE(ops->tools);
  CHECK(says(refusal(chat, named("ops2")), "ops2"));
}

TEST_CASE("a command counts as exec", "[turns][rights]") {
  auto program = named("codex");
  program.command = {"codex"};
  CHECK(says(refusal(named("chat", {{"read", "spawn_agent"}}), program), "runs a program"));
  CHECK(refusal(named("coder", {{"exec", "spawn_agent"}}), program).empty());
  CHECK(refusal(named("default"), program).empty());
}

TEST_CASE("a sub-agent stays on its parent's workers", "[turns][rights]") {
  auto parent = named("p"), child = named("c");
  parent.worker = "w1";
  parent.on = {{"zone", "outside"}};
  auto made = within_rights_of(parent, child);
  REQUIRE(made);
  CHECK(made->worker == "w1");
  CHECK(made->on == parent.on);
  child.on = {{"gpu", "1"}};
  made = within_rights_of(parent, child);
  REQUIRE(made);
  CHECK(made->on == std::map<std::string, std::string>{{"gpu", "1"}, {"zone", "outside"}});
  child.on = {{"zone", "inside"}};
  CHECK(says(refusal(parent, child), "zone=inside"));
  child.on.clear();
  child.worker = "w2";
  CHECK(says(refusal(parent, child), "worker w2"));
  parent.worker.reset();
  CHECK(refusal(parent, child).empty()); // one of the agents that the parent may have
  parent.may_spawn = {"c"};
  child.on = {{"zone", "inside"}};
  made = within_rights_of(parent, child);
  REQUIRE(made);
  CHECK(made->on == child.on);
}

TEST_CASE("a sub-agent has no other user than its parent", "[turns][rights]") {
  auto parent = named("p"), child = named("c");
  parent.user = "build";
  auto made = within_rights_of(parent, child);
  REQUIRE(made);
  CHECK(made->user == "build");
  child.user = "build";
  CHECK(refusal(parent, child).empty());
  child.user = "root";
  CHECK(says(refusal(parent, child), "runs as user root"));
  parent.user.reset(); // the worker's default user, which can be any
  CHECK(says(refusal(parent, child), "runs as user root"));
  parent.may_spawn = {"c"};
  made = within_rights_of(parent, child);
  REQUIRE(made);
  CHECK(made->user == "root");
}

TEST_CASE("without exec a sub-agent stays in its parent's workspace", "[turns][rights]") {
  auto parent = named("p", {{"read", "spawn_agent"}}), child = named("c", {{"read"}});
  parent.workspace = "/srv/chat";
  CHECK(within_rights_of(parent, child)->workspace == "/srv/chat");
  for (const char* inside : {"/srv/chat", "/srv/chat/deep"}) {
    child.workspace = inside;
    CHECK(within_rights_of(parent, child)->workspace == inside);
  }
  for (const char* outside : {"/", "/srv", "/srv/chats", "/srv/chat/../ops", "/srv/chat/..", "/etc"}) {
    child.workspace = outside;
    CHECK(says(refusal(parent, child), std::string("works in ") + outside));
  }
  parent.workspace.reset(); // the worker's own directory, which can be any
  child.workspace = "/srv/chat";
  CHECK(says(refusal(parent, child), "works in /srv/chat"));
  parent.tools = {"exec", "read", "spawn_agent"};
  CHECK(refusal(parent, child).empty());
}

TEST_CASE("nobody reaches through a sub-agent's list what it may not spawn itself", "[turns][rights]") {
  auto parent = named("p", {{"read", "spawn_agent"}}), middle = named("m", {{"read", "spawn_agent"}});
  middle.may_spawn = {"ops", "also"};
  CHECK(within_rights_of(parent, middle)->may_spawn.empty());
  parent.may_spawn = {"also"};
  CHECK(within_rights_of(parent, middle)->may_spawn == std::vector<std::string>{"also"});
  parent.may_spawn = {"m"}; // listed: with all its rights
  CHECK(within_rights_of(parent, middle)->may_spawn == middle.may_spawn);
}

TEST_CASE("a sub-agent works in the conversation's workspace, and no choice leads out of it",
          "[turns][rights][workspace]") {
  auto parent = named("p"), child = named("c");
  parent.mode = workspace_mode::per_scope;
  parent.workspace_quota = 1000;
  child.mode = workspace_mode::per_scope; // the default, which nobody chose
  auto made = within_rights_of(parent, child);
  REQUIRE(made);
  CHECK(made->mode == workspace_mode::per_scope);
  CHECK(made->workspace_quota == 1000);
  child.chooses_workspace = true;
  child.mode = workspace_mode::per_turn;
  CHECK(within_rights_of(parent, child)->mode == workspace_mode::per_turn);
  child.mode = workspace_mode::shared;
  CHECK(says(refusal(parent, child), "outside of the conversation's workspace"));
  child.workspace = "/srv/work";
  CHECK(says(refusal(parent, child), "outside of the conversation's workspace"));
  parent.may_spawn = {"c"};
  CHECK(within_rights_of(parent, child)->workspace == "/srv/work");
  parent.may_spawn.clear();
  parent.mode = workspace_mode::per_turn;
  child.workspace.reset();
  child.mode = workspace_mode::per_scope;
  CHECK(says(refusal(parent, child), "keeps a workspace from turn to turn"));
  // A parent that shares its workspace hands that on.
  auto sharing = named("s"), plain = named("d");
  sharing.workspace = "/srv/chat";
  sharing.chooses_workspace = true;
  plain.mode = workspace_mode::per_scope;
  CHECK(within_rights_of(sharing, plain)->mode == workspace_mode::shared);
}
