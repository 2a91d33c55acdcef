// The choices of a message for its turn: never more than its agent has, at once and after a reload.
#include <catch2/catch.hpp>

#include "actors/turns/message_choice.hpp"
#include "actors/turns/turn_json.hpp"

using namespace quell;
using namespace quell::controller::turns;
using names = std::vector<std::string>;

namespace {

struct choice_world {
  turn_settings settings;
  agent_settings agent;

  choice_world() {
    for (const char* name : {"small", "big", "dear"}) {
      settings.models.emplace_back();
      settings.models.back().name = name;
    }
    agent.name = "coder";
    agent.model = "small";
    agent.models = {"big", "gone"};
    agent.tools = names{"read", "exec", "mcp:files"};
    agent.may_spawn = {"free"};
  }
  std::string pointer(const message_choice& choice) const {
    const auto found = chosen(settings, agent, choice);
    if (found) return "fits";
    CHECK(found.error().error.code == error_code::invalid_field);
    return found.error().error.pointer;
  }
};

} // namespace

TEST_CASE("a message asks for the agent's model or one of its others", "[turns][message_choice]") {
  const choice_world w;
  CHECK(chosen(w.settings, w.agent, {"big", {}})->model == "big");
  CHECK(chosen(w.settings, w.agent, {"small", {}})->model == "small");
  CHECK(w.pointer({"dear", {}}) == "/model"); // configured, but not this agent's
  CHECK(w.pointer({"gone", {}}) == "/model"); // the agent's, but not configured
  CHECK(w.pointer({"nobody", {}}) == "/model");
  CHECK(*chosen(w.settings, w.agent, {}) == w.agent);
}

TEST_CASE("a message takes tools away, and may_spawn with them", "[turns][message_choice]") {
  const choice_world w;
  const auto fewer = chosen(w.settings, w.agent, {{}, names{"read", "mcp__files__list", "task_wait"}});
  REQUIRE(fewer);
  CHECK(fewer->tools == names{"read", "mcp__files__list", "task_wait"});
  CHECK(fewer->may_spawn.empty());
  CHECK(chosen(w.settings, w.agent, {{}, names{}})->tools == names{});
  CHECK(w.pointer({{}, names{"read", "write"}}) == "/tools/1");
  CHECK(w.pointer({{}, names{"nothing"}}) == "/tools/0");
  CHECK(w.pointer({{}, names{"mcp:other"}}) == "/tools/0");
  auto unlisted = w;
  unlisted.agent.tools.reset(); // all built-in ones, none of MCP, none that must be named
  CHECK(unlisted.pointer({{}, names{"write"}}) == "fits");
  CHECK(unlisted.pointer({{}, names{"ask_user"}}) == "/tools/0");
  CHECK(unlisted.pointer({{}, names{"mcp:files"}}) == "/tools/0");
}

TEST_CASE("after a reload lost tools are left out, and a lost model is not replaced", "[turns][message_choice]") {
  choice_world w;
  w.agent.tools = names{"read"};
  w.agent.models.clear();
  CHECK(still_chosen(w.agent, {{}, names{"read", "exec"}})->tools == names{"read"});
  CHECK(still_chosen(w.agent, {{}, names{"exec"}})->tools == names{});
  CHECK_FALSE(still_chosen(w.agent, {"big", {}}));
  CHECK(still_chosen(w.agent, {"small", {}})->model == "small");
  CHECK(possible_part(w.agent, {"big", names{"exec", "read"}}) == message_choice{std::nullopt, names{"read"}});
}

TEST_CASE("a choice comes back from the block of its turn", "[turns][message_choice]") {
  const std::string block = R"({"agent":"coder","model":"big"})";
  CHECK(with_choice(block, {}) == block);
  CHECK(choice_of(block).is_none());
  for (const auto& choice :
       {message_choice{"big", {}}, message_choice{{}, names{}}, message_choice{"big", names{"read"}}})
    CHECK(choice_of(with_choice(block, choice)) == choice);
  CHECK(turn_started(operation_id::fresh(), with_choice(block, {"big", {}})).data.find("choice") == std::string::npos);
}
