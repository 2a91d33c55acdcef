// read, write, edit, list, search in a real folder.
#include <sys/stat.h>

#include "tests/tools/playground.hpp"

using namespace quell::testing;

TEST_CASE("a file is read whole or in part, and says how much there is", "[tools]") {
  playground p;
  p.put(p.root() / "a.txt", "one\ntwo\nthree\nfour");
  CHECK(p.good("read", {{"path", "a.txt"}}).at("text") == "one\ntwo\nthree\nfour");
  const auto part = p.good("read", {{"path", "a.txt"}, {"first_line", 2}, {"lines", 2}});
  CHECK(part.at("text") == "two\nthree\n");
  CHECK(part.at("total_lines") == 4);
  CHECK(part.at("truncated") == true);
  CHECK(p.good("read", {{"path", "a.txt"}, {"first_line", 9}}).at("text") == "");
  CHECK(p.good("read", {{"path", (p.root() / "a.txt").string()}}).at("path") == "a.txt");
  p.put(p.root() / "long.txt", std::string(5000, 'x') + "ü");
  const auto cut = p.good("read", {{"path", "long.txt"}}, {{"result_bytes", 5001}});
  CHECK(cut.at("text") == std::string(5000, 'x')); // not in the middle of a character
  CHECK(cut.at("truncated") == true);
}

TEST_CASE("an image or a PDF file is answered as bytes, if that is asked for", "[tools]") {
  playground p;
  const std::string png = std::string("\x89PNG\r\n\x1a\n") + "the rest";
  p.put(p.root() / "a.png", png);
  p.put(p.root() / "a.pdf", "%PDF-1.7 and so on");
  p.put(p.root() / "a.txt", "%PDF is a kind of file");
  const json shown = {{"media_bytes", 100}};
  CHECK(p.good("read", {{"path", "a.png"}}, shown) ==
        json({{"path", "a.png"}, {"type", "image/png"}, {"bytes", png.size()}, {"data", "iVBORw0KGgp0aGUgcmVzdA=="}}));
  CHECK(p.good("read", {{"path", "a.pdf"}}, shown).at("type") == "application/pdf");
  CHECK(p.good("read", {{"path", "a.pdf"}}).at("text") == "%PDF-1.7 and so on"); // by somebody who cannot show it
  CHECK(p.good("read", {{"path", "a.txt"}}, shown).at("text") == "%PDF is a kind of file");
  CHECK(p.code("read", {{"path", "a.png"}}) == "not_text");
  CHECK(p.code("read", {{"path", "a.png"}}, {{"media_bytes", 10}}) == "too_large");
}

TEST_CASE("what cannot be read says why", "[tools]") {
  playground p;
  fs::create_directory(p.root() / "folder");
  p.put(p.root() / "binary", std::string("\xff\xfe\0", 3));
  ::mkfifo((p.root() / "pipe").c_str(), 0600);
  CHECK(p.code("read", {{"path", "nowhere"}}) == "not_found");
  CHECK(p.code("read", {{"path", "folder"}}) == "not_a_file");
  CHECK(p.code("read", {{"path", "binary"}}) == "not_text");
  CHECK(p.code("read", {{"path", "pipe"}}) == "not_a_file"); // and the call does not hang
  CHECK(p.code("read", {{"path", "binary"}}, {{"file_bytes", 2}}) == "too_large");
  CHECK(p.code("read", json::object()) == "invalid_input");
  CHECK(p.code("read", {{"path", 5}}) == "invalid_input");
  CHECK(p.code("read", {{"path", "a"}, {"paht", "b"}}) == "invalid_input");
  CHECK(p.code("read", {{"path", std::string("a\0b", 3)}}) == "invalid_input");
  CHECK(p.code("fly", json::object()) == "unknown_tool");
}

TEST_CASE("no path leads out of the workspace", "[tools]") {
  playground p;
  fs::create_symlink("../secret.txt", p.root() / "link");
  fs::create_symlink("..", p.root() / "up");
  fs::create_symlink(p.outside(), p.root() / "absolute");
  fs::create_symlink("/proc/self/root/etc", p.root() / "magic");
  fs::create_symlink("loop", p.root() / "loop");
  for (const char* path : {"../secret.txt", "link", "up/secret.txt", "absolute", "a/../../secret.txt", "/etc/passwd",
                           "magic/passwd", "loop", "./../secret.txt"}) {
    INFO(path);
    for (const auto& code : {p.code("read", {{"path", path}}), p.code("write", {{"path", path}, {"text", "x"}}),
                             p.code("edit", {{"path", path}, {"old", "secret"}, {"new", "x"}})})
      CHECK((code == "outside_workspace" || code == "not_found"));
  }
  CHECK(p.code("list", {{"path", "up"}}) == "outside_workspace");
  CHECK(p.code("search", {{"path", "up"}, {"pattern", "secret"}}) == "outside_workspace");
  CHECK(p.good("search", {{"pattern", "secret"}}).at("matches").empty());
  CHECK(p.got(p.outside()) == "secret");
}

TEST_CASE("a link inside the workspace is followed, and written through", "[tools]") {
  playground p;
  p.put(p.root() / "real.txt", "old");
  fs::create_symlink("real.txt", p.root() / "link");
  CHECK(p.good("read", {{"path", "link"}}).at("text") == "old");
  p.good("write", {{"path", "link"}, {"text", "new"}});
  CHECK(p.got(p.root() / "real.txt") == "new");
  CHECK(fs::is_symlink(p.root() / "link"));
}

TEST_CASE("a file is written in one step, its folders are made, its mode is kept", "[tools]") {
  playground p;
  CHECK(p.good("write", {{"path", "a/b/c.txt"}, {"text", "hello"}}).at("bytes") == 5);
  CHECK(p.got(p.root() / "a/b/c.txt") == "hello");
  p.put(p.root() / "run.sh", "x");
  fs::permissions(p.root() / "run.sh", fs::perms(0750));
  p.good("write", {{"path", "run.sh"}, {"text", "y"}});
  CHECK(fs::status(p.root() / "run.sh").permissions() == fs::perms(0750));
  CHECK(p.code("write", {{"path", "a"}, {"text", "x"}}) == "not_a_file");
  CHECK(p.code("write", {{"path", "run.sh/x"}, {"text", "x"}}) == "not_found");
  for (const auto& e : fs::recursive_directory_iterator(p.root()))
    CHECK(e.path().filename().string().find(".tmp") == std::string::npos);
}

TEST_CASE("an edit wants one place, or all of them", "[tools]") {
  playground p;
  p.put(p.root() / "a", "x = 1\ny = 1\n");
  CHECK(p.code("edit", {{"path", "a"}, {"old", " = 1"}, {"new", " = 2"}}) == "many_matches");
  CHECK(p.code("edit", {{"path", "a"}, {"old", "z"}, {"new", "q"}}) == "no_match");
  CHECK(p.code("edit", {{"path", "a"}, {"old", ""}, {"new", "q"}}) == "invalid_input");
  CHECK(p.good("edit", {{"path", "a"}, {"old", "x = 1"}, {"new", "x = 3"}}).at("replaced") == 1);
  CHECK(p.good("edit", {{"path", "a"}, {"old", " = "}, {"new", "="}, {"all", true}}).at("replaced") == 2);
  CHECK(p.got(p.root() / "a") == "x=3\ny=1\n");
}

TEST_CASE("list and search go through folders, within their limits", "[tools]") {
  playground p;
  p.put(p.root() / "src/a.cpp", "int main() {\n  return answer;\n}\n");
  p.put(p.root() / "src/b.txt", "the Answer\n");
  p.put(p.root() / ".git/config", "answer");
  p.put(p.root() / "bin", "answer \xff");
  const auto top = p.good("list", json::object());
  CHECK(top.at("entries").size() == 2);
  CHECK(p.good("list", {{"depth", 3}}).at("entries").size() == 4);
  CHECK(p.good("list", {{"depth", 3}, {"glob", "*.cpp"}}).at("entries").at(0).at("path") == "src/a.cpp");
  CHECK(p.good("list", {{"depth", 3}}, {{"entries", 2}}).at("truncated") == true);
  const auto found = p.good("search", {{"pattern", "ans.er"}});
  REQUIRE(found.at("matches").size() == 1);
  CHECK(found.at("matches").at(0).at("line") == 2);
  CHECK(found.at("files_passed_by") == 1);
  CHECK(p.good("search", {{"pattern", "ANSWER"}, {"ignore_case", true}}).at("matches").size() == 2);
  CHECK(p.good("search", {{"pattern", "answer"}, {"ignore_case", true}, {"limit", 1}}).at("truncated") == true);
  CHECK(p.code("search", {{"pattern", "("}}) == "invalid_input");
  p.put(p.root() / "evil", std::string(1 << 20, 'a'));
  CHECK(p.good("search", {{"pattern", "(a*)*b"}, {"path", "."}}).at("matches").empty()); // linear time
}
