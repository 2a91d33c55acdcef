// Hellos of voice clients: who they are, and what is refused with its place.
#include <catch2/catch.hpp>

#include "actors/voice/callers.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::voice;
using namespace std::string_view_literals;

namespace {

result<speaker> read_with(std::string_view text, bool is_loopback = true) {
  voice_settings settings;
  settings.scope = *scope_path::parse("voice");
  const caller_lookup known = [](const std::string& secret) -> result<caller> {
    if (secret != "qk_known") return failure("unauthorized", "no such token");
    caller by;
    by.role = role::chat;
    by.owner = {"ada", "Ada"};
    return by;
  };
  return speaker_of(text, settings, known, "s1", is_loopback);
}

} // namespace

TEST_CASE("a hello says who talks, where, and among how many", "[voice]") {
  const auto who = read_with(
      R"({"token":"qk_known","scope":"team/desk","author":{"id":"mia","name":"Mia"},"humans_present":2})", false);
  REQUIRE(who);
  CHECK(who->scope.text() == "team/desk");
  CHECK(who->author.id == "mia");
  CHECK(who->author.name == "Mia");
  CHECK(who->humans_present == 2U);
  CHECK(who->token == "qk_known");
}

TEST_CASE("every field of a hello may be left out on loopback", "[voice]") {
  const auto who = read_with("{}");
  REQUIRE(who);
  CHECK(who->scope.text() == "voice/s1");
  CHECK_FALSE(who->humans_present);
  CHECK(read_with(R"({"author":{}})"));
  const auto far = read_with("{}", false);
  REQUIRE_FALSE(far);
  CHECK(far.error().code == "unauthorized");
}

TEST_CASE("a hello with a wrong or an unknown field is refused with its place, also on loopback", "[voice]") {
  const bool is_loopback = GENERATE(true, false);
  const auto [text, place] = GENERATE(table<std::string_view, std::string>({
      {R"({"token":5})", "/token"},
      {R"({"token":["x"]})", "/token"},
      {R"({"token":null})", "/token"},
      {R"({"Token":"qk_known"})", "/Token"},
      {R"({"scope":5})", "/scope"},
      {R"({"author":"mia"})", "/author"},
      {R"({"author":{"id":7}})", "/author/id"},
      {R"({"author":{"name":[]}})", "/author/name"},
      {R"({"author":{"mail":"m"}})", "/author/mail"},
      {R"({"humans_present":"two"})", "/humans_present"},
      {R"({"humans_present":-1})", "/humans_present"},
      {R"({"humans_present":1.5})", "/humans_present"},
      {R"({"humans_present":4294967297})", "/humans_present"},
      {R"({"nonsense":4})", "/nonsense"},
      {R"({"a/b":4})", "/a~1b"},
      {"[]", "a JSON object"},
      {"", "a JSON object"},
      {"{}\0"sv, "a JSON object"},
      {"{}{}", "a JSON object"},
  }));
  const auto who = read_with(text, is_loopback);
  REQUIRE_FALSE(who);
  CHECK(who.error().code == "bad_frame");
  CHECK(who.error().detail.find(place) != std::string::npos);
}

TEST_CASE("an author's id that is too long and a scope that is none are refused", "[voice]") {
  const auto author = read_with(R"({"author":{"id":")" + std::string(129, 'x') + R"("}})");
  REQUIRE_FALSE(author);
  CHECK(author.error().detail.find("/author") == 0);
  const auto scope = read_with(R"({"scope":"a//b"})");
  REQUIRE_FALSE(scope);
  CHECK(scope.error().detail.find("/scope") == 0);
}

TEST_CASE("nobody talks in the scopes of quell's own work", "[voice]") {
  const std::string own = GENERATE("quell", "quell/voice", "quell/x/y");
  const auto who = read_with(R"({"scope":")" + own + R"("})");
  REQUIRE_FALSE(who);
  CHECK(who.error().code == "bad_frame");
  CHECK(who.error().detail.find("/scope: is reserved") == 0);
  CHECK(read_with(R"({"token":"qk_known","scope":"quellen/desk"})"));
}
