// Scopes: every rule at its edge, and the order relation by whole segments.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "protocol/scope.hpp"

using namespace quell;

namespace {

scope_path scope(const std::string& text) {
  auto parsed = scope_path::parse(text);
  if (!parsed) FAIL(parsed.error().detail);
  return *parsed;
}

std::string repeated(const std::string& part, std::size_t times, const std::string& between = "") {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += (i ? between : "") + part;
  return all;
}

constexpr std::string_view allowed_bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:@+=~";

rc::Gen<std::string> a_segment() {
  return rc::gen::suchThat(rc::gen::map(rc::gen::resize(20, rc::gen::nonEmpty(rc::gen::container<std::string>(
                                                                rc::gen::elementOf(std::string(allowed_bytes))))),
                                        [](std::string s) { return s; }),
                           [](const std::string& s) { return s != "." && s != ".."; });
}

} // namespace

TEST_CASE("every allowed byte alone is a scope, and every other byte is refused", "[scope]") {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = std::string("a") + static_cast<char>(byte);
    const bool allowed = byte != 0 && allowed_bytes.find(static_cast<char>(byte)) != std::string_view::npos;
    INFO("byte " << byte);
    CHECK(scope_path::parse(text).has_value() == allowed);
  }
}

TEST_CASE("the limits of a scope are exact", "[scope]") {
  CHECK(scope_path::parse(repeated("a", 128)));
  CHECK_FALSE(scope_path::parse(repeated("a", 129)));
  CHECK(scope_path::parse(repeated("a", 16, "/")));
  CHECK_FALSE(scope_path::parse(repeated("a", 17, "/")));
  const std::string of_512 = repeated(repeated("a", 127), 3, "/") + "/" + repeated("b", 128);
  REQUIRE(of_512.size() == 512);
  CHECK(scope_path::parse(of_512));
  const std::string of_513 = repeated(repeated("a", 102), 4, "/") + "/" + repeated("b", 101);
  REQUIRE(of_513.size() == 513);
  CHECK_FALSE(scope_path::parse(of_513));
}

TEST_CASE("empty segments, dots and foreign bytes are refused with a reason and a place", "[scope]") {
  struct example {
    std::string text;
    std::string expected_detail;
  };
  const auto bad = GENERATE(values<example>({
      {"", "is empty"},
      {"/", "segment 1 is empty"},
      {"/a", "segment 1 is empty"},
      {"a/", "segment 2 is empty"},
      {"a//b", "segment 2 is empty"},
      {".", "may not be '.'"},
      {"a/../b", "segment 2 may not be '.' or '..'"},
      {"a/*", "byte 3, '*', is not allowed"},
      {"team/ab c", "byte 8, ' ', is not allowed"},
      {"caf\xc3\xa9", "byte 4, '\\xc3', is not allowed"},
      {std::string("a\0b", 3), "byte 2, '\\x00', is not allowed"},
      {"a\nb", "byte 2, '\\x0a'"},
  }));
  const auto parsed = scope_path::parse(bad.text);
  INFO(bad.text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == "bad_scope");
  CHECK_THAT(parsed.error().detail, Catch::Contains(bad.expected_detail));
}

TEST_CASE("a fault about a huge or wild scope stays short and printable", "[scope]") {
  const auto parsed = scope_path::parse(repeated("\x1b[31m", 100'000));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().detail.size() < 600);
  CHECK(parsed.error().detail.find('\x1b') == std::string::npos);
}

TEST_CASE("names that only contain dots are fine", "[scope]") {
  CHECK(scope_path::parse("..."));
  CHECK(scope_path::parse(".git/..x"));
}

TEST_CASE("below goes by whole segments", "[scope]") {
  CHECK(scope("team/a").is_at_or_below(scope("team/a")));
  CHECK(scope("team/a/x").is_at_or_below(scope("team/a")));
  CHECK(scope("team/a").is_at_or_below(scope("team")));
  CHECK_FALSE(scope("team/ab").is_at_or_below(scope("team/a")));
  CHECK_FALSE(scope("team").is_at_or_below(scope("team/a")));
  CHECK_FALSE(scope("team/a").is_at_or_below(scope("TEAM")));
  CHECK_FALSE(scope("team-a").is_at_or_below(scope("team")));
}

TEST_CASE("segments, depth and parent agree with the text", "[scope]") {
  const auto s = scope("discord/guild-1/channel-2");
  CHECK(s.segments() == std::vector<std::string_view>{"discord", "guild-1", "channel-2"});
  CHECK(s.depth() == 3);
  CHECK(s.parent() == scope("discord/guild-1"));
  CHECK_FALSE(scope("discord").parent());
  CHECK(scope("a/b/c/d").first(1) == scope("a"));
  CHECK(scope("a/b/c/d").first(3) == scope("a/b/c"));
  CHECK(scope("a/b").first(3) == scope("a/b"));
  CHECK(scope("a").first(2) == scope("a"));
  CHECK(s.guild() == scope("discord/guild-1"));
  CHECK(scope_path().text() == "default");
}

TEST_CASE("for any scope: it is below each of its ancestors and below no sibling that extends its name", "[scope]") {
  CHECK(rc::check([] {
    const auto segments =
        *rc::gen::resize(8, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(a_segment())));
    std::string text;
    for (const auto& segment : segments) text += (text.empty() ? "" : "/") + segment;
    const auto s = scope(text);
    RC_ASSERT(s.text() == text);
    RC_ASSERT(s.depth() == segments.size());
    RC_ASSERT(s.segments().size() == segments.size());
    std::size_t ancestors = 0;
    for (auto up = s.parent(); up; up = up->parent(), ++ancestors) {
      RC_ASSERT(s.is_at_or_below(*up));
      RC_ASSERT(!up->is_at_or_below(s));
    }
    RC_ASSERT(ancestors + 1 == segments.size());
    RC_ASSERT(!scope(text + "x").is_at_or_below(s));
    if (segments.size() < 16) RC_ASSERT(scope(text + "/x").is_at_or_below(s));
  }));
}

TEST_CASE("no bytes whatever crash the parser, and what it accepts it gives back", "[scope]") {
  CHECK(rc::check([](const std::string& text) {
    const auto parsed = scope_path::parse(text);
    if (parsed) RC_ASSERT(parsed->text() == text);
  }));
}
