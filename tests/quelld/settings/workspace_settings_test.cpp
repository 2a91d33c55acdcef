// Where the tasks of an agent work: read, printed and refused.
#include <catch2/catch.hpp>

#include "tests/quelld/settings/settings_file.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace quell::testing;
using namespace std::chrono_literals;

namespace {

agent_settings agent_with(const std::string& keys) {
  return settings_of("[[agents]]\nname = \"a\"\n" + keys).agents.at(0);
}

} // namespace

TEST_CASE("an agent with a workspace shares it, and one without has one for each conversation",
          "[turns][settings][workspace]") {
  const auto configured = agent_with("workspace = \"/srv/work\"\n");
  CHECK(configured.mode == workspace_mode::shared);
  CHECK(configured.chooses_workspace);
  const auto own = agent_with("");
  CHECK(own.mode == workspace_mode::per_scope);
  CHECK_FALSE(own.chooses_workspace);
  CHECK(own.workspace_quota == 1ULL << 30);
  CHECK(own.workspace_retention == 720h);
  CHECK(agent_with("workspace_mode = \"per-scope\"\n").chooses_workspace);
  CHECK(agent_with("workspace_mode = \"per-turn\"\n").mode == workspace_mode::per_turn);
  CHECK(agent_with("workspace_mode = \"shared\"\n").mode == workspace_mode::shared);
  CHECK_FALSE(agent_with("workspace_mode = \"shared\"\n").workspace);
  CHECK(agent_with("workspace = \"/srv\"\nworkspace_mode = \"shared\"\n").workspace == "/srv");
}

TEST_CASE("every choice of a workspace is printed and read back as it was", "[turns][settings][workspace]") {
  for (const char* keys :
       {"", "workspace = \"/srv\"\n", "workspace_mode = \"shared\"\n", "workspace_mode = \"per-scope\"\n",
        "workspace_mode = \"per-turn\"\nworkspace_quota = \"2GiB\"\nworkspace_retention = \"7d\"\n",
        "workspace_quota = \"0\"\nworkspace_retention = \"0\"\n", "read_agents_md = false\n",
        "workspace = \"/srv\"\nworkspace_mode = \"shared\"\n"}) {
    INFO(keys);
    const auto read = settings_of("[[agents]]\nname = \"a\"\n" + std::string(keys));
    CHECK(settings_of(turn_settings_text(read)).agents == read.agents);
  }
  // A reload compares what is printed: a choice changes it.
  const auto text_of = [](const char* keys) {
    return turn_settings_text(settings_of("[[agents]]\nname = \"a\"\n" + std::string(keys)));
  };
  CHECK(text_of("") != text_of("workspace_mode = \"shared\"\n"));
  CHECK(text_of("") != text_of("workspace_mode = \"per-scope\"\n"));
  CHECK(text_of("") != text_of("workspace_quota = \"2GiB\"\n"));
  CHECK(text_of("") != text_of("workspace_retention = \"1h\"\n"));
  CHECK(text_of("") != text_of("read_agents_md = false\n"));
  CHECK(text_of("") == text_of("read_agents_md = true\n"));
}

TEST_CASE("choices of a workspace that mean nothing are refused", "[turns][settings][workspace]") {
  const std::string agent = "[[agents]]\nname = \"a\"\n";
  CHECK(says(refusal_of(agent + "workspace_mode = \"mine\"\n"), "per-scope, per-turn or shared"));
  CHECK(says(refusal_of(agent + "workspace_mode = \"per-turn\"\nworkspace = \"/srv\"\n"), "keep one of them"));
  CHECK(says(refusal_of(agent + "workspace_quota = \"much\"\n"), "1GiB"));
  CHECK(says(refusal_of(agent + "workspace = \"/srv\"\nworkspace_quota = \"1GiB\"\n"), "this agent's is shared"));
  CHECK(says(refusal_of(agent + "workspace_mode = \"shared\"\nworkspace_retention = \"1d\"\n"), "is shared"));
  CHECK(says(refusal_of(agent + "read_agents_md = 3\n"), "read_agents_md"));
  CHECK(says(refusal_of(agent + "command = [\"x\"]\nread_agents_md = true\n"), "an agent that is a command"));
  CHECK(says(refusal_of(agent + "workspace_modes = \"shared\"\n"), "nearest known one is workspace_mode"));
}
