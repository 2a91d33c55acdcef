// Forms that MCP servers ask humans to fill in, and the values for them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "integrations/mcp/form.hpp"

using namespace quell;
using namespace quell::integrations;
using nlohmann::json;

namespace {

json form_with(const json& fields, const json& required = json::array()) {
  return {{"type", "object"}, {"properties", fields}, {"required", required}};
}
json filled(const json& form, const json& values) {
  const auto whole = filled_form(form.dump(), values.dump());
  if (!whole) FAIL(whole.error().detail);
  return json::parse(*whole);
}
fault wrong(const json& form, const json& values) {
  const auto whole = filled_form(form.dump(), values.dump());
  if (whole) FAIL("taken: " << *whole);
  CHECK(whole.error().code == "invalid_values");
  return whole.error();
}
bool fits(const json& field, const json& value) {
  return filled_form(form_with({{"x", field}}).dump(), json{{"x", value}}.dump()).has_value();
}

} // namespace

TEST_CASE("fields that are left out get their defaults, and given ones keep their values") {
  const json form =
      form_with({{"name", {{"type", "string"}, {"default", "John Doe"}}},
                 {"age", {{"type", "integer"}, {"default", 30}}},
                 {"score", {{"type", "number"}, {"default", 95.5}}},
                 {"status", {{"type", "string"}, {"enum", {"active", "inactive"}}, {"default", "active"}}},
                 {"verified", {{"type", "boolean"}, {"default", true}}},
                 {"note", {{"type", "string"}}},
                 {"odd", {{"type", "integer"}, {"default", "none"}}}});
  CHECK_FALSE(mcp::wrong_form(form));
  CHECK(filled(form, json::object()) ==
        json{{"name", "John Doe"}, {"age", 30}, {"score", 95.5}, {"status", "active"}, {"verified", true}});
  CHECK(filled(form, {{"age", 31}, {"verified", false}})["age"] == 31);
  CHECK(filled(form, {{"verified", false}})["verified"] == false);
  CHECK(json::parse(filled_form(form.dump(), "").value()).size() == 5);
}

TEST_CASE("what does not fit is refused with its field and why") {
  const json form = form_with(
      {{"where", {{"type", "string"}, {"enum", {"here", "there"}}}}, {"a/b", {{"type", "boolean"}}}}, {"where"});
  CHECK(wrong(form, json::object()).pointer == "/where");
  CHECK_THAT(wrong(form, json::object()).detail, Catch::Contains("required"));
  CHECK_THAT(wrong(form, {{"where", "moon"}}).detail, Catch::Contains("\"here\", \"there\""));
  CHECK(wrong(form, {{"where", "here"}, {"a/b", 1}}).pointer == "/a~1b");
  CHECK_THAT(wrong(form, {{"where", "here"}, {"when", 1}}).detail, Catch::Contains("not a field"));
  CHECK_THAT(wrong(form, json::array()).detail, Catch::Contains("JSON object"));
}

TEST_CASE("each kind of field takes its values and no others") {
  CHECK(fits({{"type", "string"}, {"minLength", 2}, {"maxLength", 3}}, "äöü"));
  CHECK_FALSE(fits({{"type", "string"}, {"maxLength", 3}}, "abcd"));
  CHECK_FALSE(fits({{"type", "string"}, {"minLength", 2}}, "a"));
  CHECK_FALSE(fits({{"type", "string"}}, 5));
  CHECK_FALSE(fits({{"type", "string"}}, std::string(20'000, 'x')));
  CHECK(fits({{"type", "string"}, {"format", "email"}}, "ann@example.org"));
  CHECK_FALSE(fits({{"type", "string"}, {"format", "email"}}, "ann"));
  CHECK(fits({{"type", "string"}, {"format", "uri"}}, "https://example.org/x"));
  CHECK_FALSE(fits({{"type", "string"}, {"format", "uri"}}, "example"));
  CHECK(fits({{"type", "string"}, {"format", "date"}}, "2026-07-28"));
  CHECK_FALSE(fits({{"type", "string"}, {"format", "date"}}, "2026-13-28"));
  CHECK(fits({{"type", "string"}, {"format", "date-time"}}, "2026-07-28T12:00:00.5+02:00"));
  CHECK_FALSE(fits({{"type", "string"}, {"format", "date-time"}}, "2026-07-28"));
  // The server checks the pattern.
  CHECK(fits({{"type", "string"}, {"pattern", "(a+)+$"}}, std::string(5'000, 'a') + "b"));
  CHECK(fits({{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}, 9));
  CHECK(fits({{"type", "integer"}}, 5.0));
  CHECK_FALSE(fits({{"type", "integer"}}, 5.5));
  CHECK_FALSE(fits({{"type", "integer"}, {"maximum", 9}}, 10));
  CHECK_FALSE(fits({{"type", "number"}, {"minimum", 0}}, -0.1));
  CHECK_FALSE(fits({{"type", "number"}}, "5"));
  CHECK_FALSE(fits({{"type", "boolean"}}, "true"));
  const json titled{{"type", "string"},
                    {"oneOf", {{{"const", "r"}, {"title", "Red"}}, {{"const", "g"}, {"title", "Green"}}}}};
  CHECK(fits(titled, "r"));
  CHECK_FALSE(fits(titled, "Red"));
  const json several{
      {"type", "array"}, {"items", {{"type", "string"}, {"enum", {"a", "b", "c"}}}}, {"minItems", 1}, {"maxItems", 2}};
  CHECK(fits(several, {"a", "c"}));
  CHECK_FALSE(fits(several, json::array()));
  CHECK_FALSE(fits(several, {"a", "a"}));
  CHECK_FALSE(fits(several, {"a", "d"}));
  CHECK_FALSE(fits(several, {"a", "b", "c"}));
}

TEST_CASE("what is not a flat form is not asked") {
  const auto is_wrong = [](const json& schema) { return mcp::wrong_form(schema).has_value(); };
  CHECK(is_wrong(json()));
  CHECK(is_wrong({{"type", "string"}}));
  CHECK(is_wrong(form_with({{"x", {{"type", "object"}}}})));
  CHECK(is_wrong(form_with({{"x", {{"type", "array"}, {"items", {{"type", "string"}}}}}})));
  CHECK(is_wrong(form_with({{"x", {{"type", "string"}, {"enum", json::array()}}}})));
  CHECK(is_wrong(form_with({{"x", {{"type", "string"}}}}, {"y"})));
  CHECK(is_wrong(form_with({{std::string(129, 'x'), {{"type", "string"}}}})));
  CHECK(is_wrong(form_with({{"x", {{"type", "string"}, {"description", std::string(40'000, 'x')}}}})));
  json many = json::object();
  for (int i = 0; i < 65; ++i) many["f" + std::to_string(i)] = {{"type", "boolean"}};
  CHECK(is_wrong(form_with(many)));
  CHECK_FALSE(is_wrong({{"type", "object"}}));
}
