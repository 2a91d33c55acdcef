// The notes of a workspace for agents: AGENTS.md, and the heads of its skills.
#include <sys/stat.h>

#include "tests/tools/playground.hpp"
#include "worker/tools/front_matter.hpp"

using namespace quell::testing;
using quell::worker::tools::head_of_skill;

namespace {

std::string skill(const std::string& name, const std::string& description) {
  return "---\nname: " + name + "\ndescription: " + description + "\n---\nThe body.\n";
}

json project(const playground& p) { return p.good("project", json::object()); }

} // namespace

TEST_CASE("an empty workspace has no instructions and no skills", "[tools][project]") {
  playground p;
  const auto found = project(p);
  CHECK_FALSE(found.contains("instructions"));
  CHECK(found.at("nested").empty());
  CHECK(found.at("skills").empty());
  CHECK(found.at("truncated") == false);
  CHECK(p.code("project", {{"path", "x"}}) == "invalid_input");
}

TEST_CASE("AGENTS.md is read up to a limit, and those of folders below are named", "[tools][project]") {
  playground p;
  p.put(p.root() / "AGENTS.md", std::string((32 << 10) - 1, 'x') + "ü and more");
  p.put(p.root() / "api" / "AGENTS.md", "in api");
  p.put(p.root() / "node_modules" / "m" / "AGENTS.md", "of others");
  p.put(p.root() / ".git" / "AGENTS.md", "hidden");
  const auto found = project(p);
  CHECK(found.at("instructions").at("text") == std::string((32 << 10) - 1, 'x')); // not within a character
  CHECK(found.at("instructions").at("truncated") == true);
  CHECK(found.at("nested") == json::array({"api/AGENTS.md"}));
}

TEST_CASE("skills are listed by their heads, each name once", "[tools][project]") {
  playground p;
  p.put(p.root() / ".agents" / "skills" / "pdf" / "SKILL.md", skill("pdf", "Fills forms."));
  p.put(p.root() / "skills" / "pdf" / "SKILL.md", skill("pdf", "Another one."));
  p.put(p.root() / "skills" / "tables" / "SKILL.md", skill("tables", "Reads tables."));
  p.put(p.root() / "skills" / "broken" / "SKILL.md", "no head at all");
  p.put(p.root() / "skills" / "README.md", skill("readme", "Not a folder."));
  CHECK(project(p).at("skills") ==
        json::array({{{"name", "pdf"}, {"description", "Fills forms."}, {"path", ".agents/skills/pdf/SKILL.md"}},
                     {{"name", "tables"}, {"description", "Reads tables."}, {"path", "skills/tables/SKILL.md"}}}));
}

TEST_CASE("no link leads an instruction or a skill out of the workspace, and a pipe does not hang",
          "[tools][project]") {
  playground p;
  fs::create_symlink("../secret.txt", p.root() / "AGENTS.md");
  p.put(p.outside().parent_path() / "stolen" / "SKILL.md", skill("stolen", "From outside."));
  fs::create_directories(p.root() / "skills" / "pipe");
  fs::create_symlink("../../stolen", p.root() / "skills" / "stolen");
  ::mkfifo((p.root() / "skills" / "pipe" / "SKILL.md").c_str(), 0600);
  const auto found = project(p);
  CHECK_FALSE(found.contains("instructions"));
  CHECK(found.at("skills").empty());
}

TEST_CASE("a workspace with very many folders is listed in part, and says so", "[tools][project]") {
  playground p;
  for (int i = 0; i < 70; ++i) {
    const auto name = "s" + std::to_string(i);
    p.put(p.root() / "skills" / name / "SKILL.md", skill(name, "One of many."));
  }
  const auto found = project(p);
  CHECK(found.at("skills").size() == 64);
  CHECK(found.at("truncated") == true);
}

TEST_CASE("the head of a skill has a name and a description, written in any of YAML's usual ways", "[tools][project]") {
  const auto description = [](const std::string& value) {
    const auto head = head_of_skill("---\nlicense: MIT\nname: a-1\ndescription: " + value + "\nmore: x\n---\nbody\n");
    return head ? head->description : "";
  };
  CHECK(description("plain: with a colon") == "plain: with a colon");
  CHECK(description("\"a \\\"quoted\\\" one\"") == "a \"quoted\" one");
  CHECK(description("'it''s one'") == "it's one");
  CHECK(description(">\n  two\n  lines") == "two lines");
  CHECK(description("|-\n  two\n\n  lines") == "two lines");
  CHECK(description("begins\n  and goes on") == "begins and goes on");
  CHECK(description("tab\x01here") == "tab here");
  CHECK(description(std::string(2000, 'x')).size() == 1024);
  CHECK(head_of_skill("---\r\nname: a\r\ndescription: b\r\n---\r\n")->description == "b");
  for (const char* text : {"", "---", "---\nname: a\n---\n", "---\nname: A b\ndescription: c\n---\n",
                           "---\nname: a\ndescription: b\n", "name: a\ndescription: b\n",
                           "---\nname: ../a\ndescription: b\n---\n", "---\nname: a\ndescription: \xff\n---\n"}) {
    INFO(text);
    CHECK_FALSE(head_of_skill(text));
  }
}
