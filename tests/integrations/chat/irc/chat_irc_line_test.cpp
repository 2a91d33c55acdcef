// Lines, names and texts of IRC: read leniently, written strictly, cut at natural places.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "integrations/chat/addressing.hpp"
#include "integrations/chat/irc/line.hpp"
#include "integrations/chat/irc/names.hpp"
#include "integrations/chat/irc/text.hpp"
#include "protocol/utf8.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::irc;
using namespace std::string_literals;

TEST_CASE("a line is taken apart into tags, prefix, command and parameters") {
  const auto l = read_line("@msgid=a\\:b\\s\\\\;x;+y=1 :mia!m@host privmsg #dev  :clanky: stop : now");
  REQUIRE(l);
  CHECK(l->tag("msgid") == "a;b \\");
  CHECK(l->tag("x").empty());
  CHECK(l->tag("+y") == "1");
  CHECK(l->prefix == "mia!m@host");
  CHECK(l->nick() == "mia");
  CHECK(l->command == "PRIVMSG");
  CHECK(l->parameters == std::vector<std::string>{"#dev", "clanky: stop : now"});
  CHECK(read_line(":irc.example 001 quell")->parameter(7).empty());
  CHECK(read_line("PING :")->parameters == std::vector<std::string>{""});
}

TEST_CASE("what is not a line is not a line") {
  for (const char* text : {"", " ", "@", "@a", ":", ":only-a-prefix", "@a :b", "P\x01NG x", ": PING x\x80"})
    if (const auto l = read_line(text)) CHECK(l->command == "PING");
  CHECK_FALSE(read_line("P\x01NG x"));
  CHECK_FALSE(read_line(":only-a-prefix"));
}

TEST_CASE("nothing that is written can become a second line") {
  CHECK(write_line({"PRIVMSG", "#dev"}, "hi\r\nQUIT :x\0y"s) == "PRIVMSG #dev :hi  QUIT :x y\r\n");
  CHECK(write_line({"PRIVMSG", "#dev\r\nQUIT"}, "hi").empty());
  CHECK(write_line({"PRIVMSG", "#dev x"}, "hi").empty());
  CHECK(write_line({"PRIVMSG", ":dev"}, "hi").empty());
  CHECK(write_line({"JOIN", ""}).empty());
  CHECK(write_line({"PASS"}, " a b") == "PASS : a b\r\n");
  REQUIRE(rc::check("one line of at most 512 bytes", [](const std::string& word, std::string text) {
    const auto line = write_line({"PRIVMSG", word}, text);
    if (line.empty()) return;
    RC_ASSERT(line.size() <= most_line_bytes);
    RC_ASSERT(line.find_first_of("\r\n\0"s) == line.size() - 2);
  }));
}

TEST_CASE("lines come out whole, however the bytes come, and too long ones not at all") {
  line_reader whole;
  whole.feed("one\r\ntwo\n\r\n" + std::string(most_read_bytes + 5, 'x') + "\nthree\r\nfo");
  std::vector<std::string> lines;
  while (const auto l = whole.next()) lines.emplace_back(*l);
  CHECK(lines == std::vector<std::string>{"one", "two", "three"});

  line_reader pieces;
  std::vector<std::string> got;
  const auto bytes = "one\r\n" + std::string(3 * most_read_bytes, 'y') + "\r\ntwo\r\n";
  for (std::size_t at = 0; at < bytes.size(); at += 1000) {
    pieces.feed(std::string_view(bytes).substr(at, 1000));
    while (const auto l = pieces.next()) got.emplace_back(*l);
  }
  CHECK(got == std::vector<std::string>{"one", "two"});
}

TEST_CASE("names are the same where the server says so") {
  CHECK(folded("#Foo[1]\\~", case_mapping::rfc1459) == "#foo{1}|^");
  CHECK(folded("#Foo[1]\\~", case_mapping::rfc1459_strict) == "#foo{1}|~");
  CHECK(folded("#Foo[1]\\~", case_mapping::ascii) == "#foo[1]\\~");
  CHECK(is_same("Nick{}", "nick[]", case_mapping::rfc1459));
  CHECK_FALSE(is_same("Nick{}", "nick[]", case_mapping::ascii));
  CHECK(scope_of_target("Libera", "#Foo", case_mapping::rfc1459)->text() == "irc/Libera/~23foo");
  CHECK(scope_of_target("Libera", "#foo", case_mapping::rfc1459) == scope_of_target("Libera", "#FOO", {}));
  CHECK(target_of_scope(*scope_path::parse("irc/Libera/~23foo/deeper"), "Libera") == "#foo");
  CHECK_FALSE(target_of_scope(*scope_path::parse("irc/Other/~23foo"), "Libera"));
  CHECK_FALSE(target_of_scope(*scope_path::parse("irc/Libera"), "Libera"));
  CHECK_FALSE(target_of_scope(*scope_path::parse("irc/Libera/a~20b"), "Libera"));
  CHECK_FALSE(target_of_scope(*scope_path::parse("irc/Libera/a~0D~0AQUIT"), "Libera"));
}

TEST_CASE("formatting is not a part of what was said") {
  CHECK(plain("\x02stop\x0f") == "stop");
  CHECK(plain("\x03"
              "04,12stop\x03 it") == "stop it");
  CHECK(plain("\x03,5 \x04"
              "ff0000red\x1d\x1f\x16\x11") == ",5 red");
  CHECK(plain("caf\xe9") == "caf\xEF\xBF\xBD");
  const auto action = read_ctcp("\x01"
                                "action waves\x01");
  REQUIRE(action);
  CHECK(action->command == "ACTION");
  CHECK(action->text == "waves");
  CHECK_FALSE(read_ctcp("no"));
}

TEST_CASE("any text becomes lines that fit and, joined again, are the text") {
  REQUIRE(rc::check("cut and joined", [](const std::vector<std::uint16_t>& letters, std::uint8_t extra) {
    std::string text;
    for (const auto raw : letters) {
      const char* some[] = {"a", "ö", "€", "🛑", " ", "z", "\n"};
      text += raw % 97 == 0 ? std::string(raw % 700, 'w') : some[raw % 7];
    }
    const std::size_t most = 4 + extra;
    std::string joined;
    std::size_t at = 0;
    for (const auto& line : lines_of(text, most)) {
      RC_ASSERT(!line.empty());
      RC_ASSERT(line.size() <= most);
      RC_ASSERT(is_utf8(line));
      RC_ASSERT(line.find('\n') == std::string::npos);
      // Only line breaks, and the spaces of blank lines, may lie in between.
      while (text.compare(at, line.size(), line) != 0) {
        RC_ASSERT(at < text.size() && (text[at] == '\n' || text[at] == ' '));
        ++at;
      }
      at += line.size();
    }
    RC_ASSERT(text.find_first_not_of(" \n", at) == std::string::npos);
  }));
}

TEST_CASE("the room for text counts what the server puts in front") {
  const std::string prefix = "quell!~quell@" + std::string(63, 'h'), target = "#channel";
  const auto room = room_for_text(prefix, target);
  const auto seen = ":" + prefix + " PRIVMSG " + target + " :" + std::string(room, 'x') + "\r\n";
  CHECK(seen.size() == most_line_bytes);
  CHECK(room_for_text(std::string(2000, 'x'), target) >= 64);
}

TEST_CASE("a name before the text is an address only with a sign behind it") {
  const std::vector<std::string> names{"clanky", "clanky_"};
  const auto split = [&](std::string_view text) {
    const auto s = without_address(text, names);
    return (s.is_addressed ? "+" : "-") + std::string(s.text);
  };
  CHECK(split("clanky: stop") == "+stop");
  CHECK(split("  Clanky,  build it ") == "+build it");
  CHECK(split("clanky_: hi") == "+hi");
  CHECK(split("@clanky build") == "+build");
  CHECK(split("@clanky: build") == "+build");
  CHECK(split("clanky?") == "+clanky?");
  CHECK(split("clanky: ") == "+clanky:");
  CHECK(split("clanky stop") == "-clanky stop");
  CHECK(split("clankyx: stop") == "-clankyx: stop");
  CHECK(split("stop") == "-stop");
  CHECK(split("") == "-");
}

TEST_CASE("an approval names the end of an id") {
  CHECK(read_approval("Approve 5D0F3E1A")->tail == "5d0f3e1a");
  CHECK(read_approval("approve 5d0f")->approved);
  CHECK_FALSE(read_approval("deny 5d0f3e1a")->approved);
  for (const char* text : {"approve", "approve it", "approve 5d0", "please approve 5d0f", "approve 5d0f3e1a now", ""})
    CHECK_FALSE(read_approval(text));
}
