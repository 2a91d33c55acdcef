// The section [[a2a]]: accepted values, refused values with their messages, and the printed form.
#include <catch2/catch.hpp>

#include "quelld/settings/reach.hpp"
#include "quelld/settings/turn_settings.hpp"
#include "tests/quelld/settings/settings_file.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace quell::testing;
using namespace std::chrono_literals;

namespace {

const variables remote_keys{{"WEB_KEY", "web-secret"}};

} // namespace

TEST_CASE("remote agents are read, named by agents and printed again without their keys", "[turns][settings]") {
  const std::string remote = R"(
[[agents]]
name = "planner"
tools = ["exec", "a2a:travel"]

[[a2a]]
name = "travel"
url = "https://agents.example.org/travel"
key_env = "WEB_KEY"
timeout = "30s"

[tools.timeouts]
"a2a:travel" = "1h"

[[approval]]
tool = "a2a:travel"
)";
  const auto s = settings_of(remote, remote_keys);
  REQUIRE(s.mcp.size() == 1);
  CHECK(s.mcp[0].name == "a2a:travel");
  CHECK(is_remote_agent(s.mcp[0].name));
  CHECK(s.mcp[0].key == "web-secret");
  CHECK(s.mcp[0].timeout == 30s);
  CHECK(what_cannot_be_reached(s).empty());
  const auto text = turn_settings_text(s);
  CHECK_FALSE(text.find("secret") != std::string::npos);
  CHECK(settings_of(text, remote_keys).mcp == s.mcp);
  const auto wrong = [&](const std::string& more) { return refusal_of(remote + more, remote_keys); };
  CHECK(says(wrong("[[a2a]]\nname = \"travel\"\nurl = \"http://h\""), "twice"));
  CHECK(says(wrong("[[a2a]]\nurl = \"http://h\""), "has no name"));
  CHECK(says(wrong("[[a2a]]\nname = \"a b\"\nurl = \"http://h\""), "letters"));
  CHECK(says(wrong("[[a2a]]\nname = \"x\"\nurl = \"ftp://h\""), "http://"));
  CHECK(says(wrong("[[a2a]]\nname = \"x\"\nurl = \"http://h\"\nkey = \"k\""), "key"));
  CHECK(says(wrong("[[a2a]]\nname = \"x\"\nurl = \"http://h\"\nkey_env = \"A\"\nkey_file = \"B\""), "key_env"));
  CHECK(says(wrong("[[agents]]\nname = \"y\"\ntools = [\"a2a:travels\"]"), "a2a:travel"));
}
