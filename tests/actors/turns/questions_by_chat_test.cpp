// Calls of the agent `default`, and of agents below it, that wait for a human because a chat reached it.
#include <catch2/catch.hpp>

#include "actors/turns/questions_by_chat.hpp"

using namespace quell;
using namespace quell::controller::turns;

namespace {

agent_settings agent(const std::string& name) {
  agent_settings a;
  a.name = name;
  return a;
}

agent_context who(const std::string& name) {
  agent_context context;
  context.is_by_chat = true;
  context.agent = agent(name);
  return context;
}

tool_call call(const std::string& name, const std::string& input) {
  tool_call c;
  c.name = name;
  c.input = input;
  return c;
}

turn_settings all() {
  turn_settings s;
  s.agents = {agent("default"), agent("coder"), agent("program")};
  s.agents[2].command = {"sh"};
  return s;
}

const auto command = call("exec", R"({"command":"ls"})");

} // namespace

TEST_CASE("the agent that nobody configured asks before a command, and so does all below it", "[turns][approval]") {
  auto settings = all();
  CHECK(question_by_chat(who("default"), settings, command) == "exec: by chat");
  CHECK(question_by_chat(who("coder"), settings, command).empty());
  auto below = who("coder");
  below.is_below_default = is_default_or_below(who("default"));
  CHECK(question_by_chat(below, settings, command) == "exec: by chat");
  auto deeper = who("other");
  deeper.is_below_default = is_default_or_below(below);
  CHECK(question_by_chat(deeper, settings, command) == "exec: by chat");
  CHECK(question_by_chat(below, settings, call("read", R"({"path":"a"})")).empty());
  below.is_by_chat = false;
  CHECK(question_by_chat(below, settings, command).empty());
  settings.chat.default_agent_asks = false;
  CHECK(question_by_chat(who("default"), settings, command).empty());
}

TEST_CASE("a sub-agent that is a program is a command of whoever spawns it", "[turns][approval]") {
  const auto settings = all();
  CHECK(question_by_chat(who("default"), settings, call("spawn_agent", R"({"agent":"program","task":"t"})")) ==
        "exec: by chat");
  CHECK(question_by_chat(who("default"), settings, call("spawn_agent", R"({"agent":"coder","task":"t"})")).empty());
  CHECK(question_by_chat(who("default"), settings, call("spawn_agent", R"({"task":"t"})")).empty());
  CHECK(question_by_chat(who("default"), settings, call("spawn_agent", "nonsense")).empty());
  CHECK(question_by_chat(who("coder"), settings, call("spawn_agent", R"({"agent":"program","task":"t"})")).empty());
}
