// Ids of remote agents' conversations: each scope can use those that it got, and no others.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "actors/turns/remote_ids.hpp"

using namespace quell;
using namespace quell::controller::turns;
using nlohmann::json;

namespace {

scope_path guild(const char* text) { return *scope_path::parse(text); }

json opened_by(const remote_ids& ids, const json& input, const std::string& agent, const char* scope) {
  const auto text = ids.opened(input.dump(), agent, guild(scope));
  return text ? json::parse(*text) : json(text.error().code);
}

} // namespace

TEST_CASE("a scope goes on with its own remote conversation, and no other does", "[turns][a2a]") {
  const remote_ids ids("secret");
  const json result{{"state", "completed"}, {"text", "x"}, {"conversation", "c~1"}, {"task", "t-1"}};
  const auto shown = json::parse(ids.sealed(result.dump(), "a2a:far", guild("discord/1/2")));
  CHECK(shown["text"] == "x");
  const json input{{"message", "more"}, {"conversation", shown["conversation"]}, {"task", shown["task"]}};
  const json plain{{"message", "more"}, {"conversation", "c~1"}, {"task", "t-1"}};
  CHECK(opened_by(ids, input, "a2a:far", "discord/1/2") == plain);
  CHECK(opened_by(remote_ids("secret"), input, "a2a:far", "discord/1/2") == plain); // the next life
  for (const auto* other : {"discord/1/3", "discord/1", "discord/1/2/4", "discord/2/2"})
    CHECK(opened_by(ids, input, "a2a:far", other) == "a2a_refused");
  CHECK(opened_by(ids, input, "a2a:near", "discord/1/2") == "a2a_refused");
  CHECK(opened_by(remote_ids("other"), input, "a2a:far", "discord/1/2") == "a2a_refused");
  CHECK(opened_by(ids, plain, "a2a:far", "discord/1/2") == "a2a_refused");
}

TEST_CASE("a seal fits its own id only", "[turns][a2a]") {
  const remote_ids ids("secret");
  const auto shown = json::parse(ids.sealed(R"({"conversation":"c","task":"c"})", "a2a:far", guild("a")));
  const auto conversation = shown["conversation"].get<std::string>(), task = shown["task"].get<std::string>();
  CHECK(conversation != task);
  CHECK(opened_by(ids, {{"conversation", task}}, "a2a:far", "a") == "a2a_refused");
  for (const auto& wrong : {"d" + conversation.substr(1), conversation + "x", conversation + "~",
                            conversation.substr(0, conversation.size() - 1), "~" + conversation, std::string("~"),
                            std::string("c~"), std::string("c")})
    CHECK(opened_by(ids, {{"conversation", wrong}}, "a2a:far", "a") == "a2a_refused");
  const auto refused = ids.opened(R"({"message":"x","task":"t"})", "a2a:far", guild("a"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().detail.find("/task is not one") == 0);
}

TEST_CASE("an id that names nothing is left out, and a key that stands twice has one meaning", "[turns][a2a]") {
  const remote_ids ids("secret");
  CHECK(opened_by(ids, {{"message", "x"}, {"conversation", ""}, {"task", nullptr}}, "a2a:far", "a") ==
        json{{"message", "x"}});
  const auto shown = json::parse(ids.sealed(R"({"conversation":"mine"})", "a2a:far", guild("a")));
  const auto own = shown["conversation"].get<std::string>();
  const auto twice = ids.opened(R"({"conversation":"theirs","conversation":")" + own + "\"}", "a2a:far", guild("a"));
  REQUIRE(twice);
  CHECK(*twice == R"({"conversation":"mine"})");
  CHECK_FALSE(ids.opened(R"({"conversation":")" + own + R"(","conversation":"theirs"})", "a2a:far", guild("a")));
  CHECK_FALSE(ids.opened("no json", "a2a:far", guild("a")));
  CHECK(ids.sealed("no json", "a2a:far", guild("a")) == "no json");
}
