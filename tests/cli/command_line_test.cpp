// Command lines to options: what is accepted, what is refused, and where global flags may stand.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "cli/command_line.hpp"
#include "cli/completion.hpp"

using namespace quell;
using namespace quell::cli;

namespace {
template <class Options>
Options parsed(std::vector<std::string> words) {
  auto line = parse_command_line(std::move(words));
  INFO((line ? std::string{} : line.error().text));
  REQUIRE(line);
  REQUIRE(std::holds_alternative<Options>(line->command));
  return std::get<Options>(line->command);
}
int refused(std::vector<std::string> words) {
  auto line = parse_command_line(std::move(words));
  REQUIRE_FALSE(line);
  return static_cast<int>(line.error().code);
}
} // namespace

TEST_CASE("--wait takes a level only with =") {
  auto o = parsed<cancel_options>({"cancel", "--wait", "7bee07dd"});
  CHECK(o.level == "settled");
  CHECK(o.ids == strings{"7bee07dd"});
  CHECK(parsed<cancel_options>({"cancel", "7bee07dd", "--wait=signalled"}).level == "signalled");
  CHECK(parsed<cancel_options>({"cancel", "7bee07dd", "--no-wait"}).level == "fenced");
  CHECK(refused({"cancel", "7bee07dd", "--no-wait", "--wait"}) == 2);
}

TEST_CASE("words behind -- belong to the task alone") {
  const auto o = parsed<run_options>({"run", "--title", "t", "--", "worker", "--json", "--wait", "--", "-d"});
  CHECK(o.command == strings{"worker", "--json", "--wait", "--", "-d"});
  CHECK_FALSE(o.detach);
  CHECK_FALSE(parse_command_line({"run", "--", "x", "--json"})->globals.json);
  CHECK(parsed<cancel_options>({"cancel", "--", "7bee07dd"}).ids == strings{"7bee07dd"});
}

TEST_CASE("global flags stand before or behind the command") {
  for (const auto& words : {strings{"--json", "--utc", "worker", "list"}, strings{"worker", "list", "--json", "--utc"},
                            strings{"worker", "--json", "list", "--utc"}}) {
    const auto line = parse_command_line(words);
    REQUIRE(line);
    CHECK(line->globals.json);
    CHECK(line->globals.utc);
  }
  CHECK(parse_command_line({"--url", "http://run", "ps"})->globals.where.url == "http://run");
}

TEST_CASE("usage errors are 2, those of run and wait 125, and help is 0") {
  CHECK(refused({}) == 2);
  CHECK(refused({"nonsense"}) == 2);
  CHECK(refused({"ps", "--nonsense"}) == 2);
  CHECK(refused({"ps", "--scope", "a//b"}) == 2);
  CHECK(refused({"ps", "--label", "novalue"}) == 2);
  CHECK(refused({"cancel", "x", "--grace", "5"}) == 2);
  CHECK(refused({"run", "--grace", "5", "--", "x"}) == 125);
  CHECK(refused({"run"}) == 125);
  CHECK(refused({"run", "--"}) == 125);
  CHECK(refused({"wait"}) == 125);
  CHECK(refused({"--help"}) == 0);
  CHECK(refused({"run", "--help"}) == 0);
}

TEST_CASE("the version is told by itself") {
  for (const char* flag : {"--version", "-V"}) {
    const auto end = parse_command_line({flag});
    REQUIRE_FALSE(end);
    CHECK(end.error().code == exit_code::done);
    CHECK(end.error().text.starts_with("quell "));
    CHECK(end.error().text.ends_with("\n"));
  }
  CHECK(parsed<run_options>({"run", "--", "cc", "--version"}).command == strings{"cc", "--version"});
}

TEST_CASE("a command has its flags wherever it stands") {
  CHECK(parsed<ps_options>({"--url", "run", "--utc", "ps", "--scope", "a"}).scope == "a");
  CHECK(parsed<ps_options>({"--color=never", "ps", "--scope", "a", "--json"}).scope == "a");
  CHECK(refused({"ps", "run", "--title", "x"}) != 0);
  CHECK(refused({"--unknown", "ps", "--scope", "a"}) == 2);
}

TEST_CASE("a cancel has exactly one kind of target, and an empty one is none") {
  CHECK(refused({"cancel"}) == 2);
  CHECK(refused({"cancel", "--everything"}) == 2);
  CHECK(refused({"cancel", "abcd", "--scope", "a"}) == 2);
  CHECK(refused({"cancel", "--owner", "", "--scope", "a"}) == 2);
  CHECK(refused({"cancel", ""}) == 2);
  CHECK(refused({"cancel", "--scope", "a", "--scope", "b"}) == 2);
  CHECK(parsed<cancel_options>({"cancel", "--everything", "--yes"}).everything);
  CHECK(parsed<cancel_options>({"cancel", "--owner", "alice", "--scope", "a"}).owner == "alice");
  CHECK(parsed<cancel_options>({"kill", "abcd"}).kill);
  CHECK_FALSE(parsed<cancel_options>({"stop", "abcd"}).kill);
}

TEST_CASE("repeated flags collect, and swallow nothing that follows") {
  const auto o = parsed<run_options>({"run", "--env", "A=1", "--env", "B", "--label", "x=y", "-i", "--", "c"});
  CHECK(o.env == strings{"A=1", "B"});
  CHECK(o.labels == strings{"x=y"});
  CHECK(o.input);
}

TEST_CASE("a command below another one is not taken for that one") {
  CHECK(parsed<mcp_login_options>({"mcp", "login", "web", "--no-browser"}).no_browser);
  CHECK(parsed<mcp_logout_options>({"mcp", "logout", "web"}).name == "web");
  parsed<mcp_list_options>({"mcp", "list"});
  CHECK(parsed<mcp_options>({"mcp", "--scope", "a"}).scope == "a");
  CHECK(parsed<acp_options>({"acp", "--agent", "a"}).agent == "a");
}

TEST_CASE("aliases are the commands that they stand for") {
  parsed<worker_list_options>({"workers"});
  CHECK(parsed<worker_drain_options>({"drain", "w1", "--deadline", "5m"}).deadline == milliseconds{300'000});
}

TEST_CASE("every command and its flags appear in the completion of each shell and in the man page") {
  std::ifstream file(QUELL_MAN_DIRECTORY "/quell.1");
  std::stringstream man;
  man << file.rdbuf();
  REQUIRE(man.str().size() > 1000);
  const auto commands = command_descriptions();
  REQUIRE(commands.size() > 25);
  for (const auto& c : commands) {
    INFO(c.path);
    CHECK(man.str().find(".B quell " + c.path + "\n") != std::string::npos);
    for (const char* shell : {"bash", "zsh"})
      CHECK(completion_script(shell, commands).find("'" + c.path + "') words=") != std::string::npos);
    const auto last = c.path.substr(c.path.rfind(' ') + 1);
    CHECK(completion_script("fish", commands).find("-a " + last) != std::string::npos);
    if (last.size() < c.path.size()) // a command of two words: then the first word leads to the second
      for (const auto& [shell, sets] : {std::pair{"bash", ") path=\"$path"}, {"zsh", ") path_=\"$path_"}}) {
        const auto script = completion_script(shell, commands);
        const auto before = script.substr(0, script.find(sets));
        const auto groups = "|" + before.substr(before.rfind(' ') + 1) + "|";
        CHECK(groups.find("|" + c.path.substr(0, c.path.find(' ')) + "|") != std::string::npos);
      }
    for (const auto& flag : c.flags) {
      if (flag == "--help") continue;
      INFO(flag);
      std::string in_roff;
      for (const char letter : flag) in_roff += letter == '-' ? std::string("\\-") : std::string(1, letter);
      CHECK(man.str().find(in_roff) != std::string::npos);
    }
  }
}
