// Images and documents as each provider takes them; and the text in their place.
#include <catch2/catch.hpp>

#include "integrations/models/json.hpp"
#include "integrations/models/media.hpp"
#include "integrations/models/message_rules.hpp"
#include "integrations/models/translator.hpp"
#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using quell::testing::settings_for;

namespace {

attachment file(const std::string& name, const std::string& type, const std::string& bytes) {
  return {"01a1f869-3df9-7303-8207-dde70bee07dd", name, type, bytes.size(), std::make_shared<const std::string>(bytes)};
}

json body_of(provider whose, const model_request& request, bool images = true) {
  auto settings = settings_for("https://host.test/v1", whose);
  settings.prompt_cache = false;
  settings.images = settings.documents = images;
  const auto made = whose == provider::anthropic   ? anthropic_request(settings, request)
                    : whose == provider::responses ? responses_request(settings, request)
                                                   : openai_request(settings, request);
  if (!made) FAIL(made.error().detail);
  if (whose != provider::responses)
    if (const auto broken = broken_rule(whose, made->body)) FAIL(*broken << " in " << made->body);
  return *parse_json(made->body);
}

model_request with_files() {
  model_request request;
  request.tools = {{"shot", "takes a picture", ""}};
  request.messages = {user_message{"look",
                                   {file("a.png", "image/png", "PNG"), file("b.pdf", "application/pdf", "PDF"),
                                    file("c.txt", "text/plain", "plain words")}},
                      assistant_message{"", {{"c1", "shot", "{}"}}},
                      tool_results{{{"c1", "shot", true, false, "{\"ok\":true}", {file("", "image/png", "SHOT")}}}}};
  return request;
}

const std::string line_a = "[attached: a.png (image/png, 3 bytes)]",
                  line_b = "[attached: b.pdf (application/pdf, 3 bytes)]",
                  text_c = "[attached: c.txt (text/plain, 11 bytes)]\nplain words",
                  line_shot = "[attached: a file (image/png, 4 bytes)]";

} // namespace

TEST_CASE("Anthropic gets image and document blocks, in results, too") {
  const json body = body_of(provider::anthropic, with_files());
  CHECK(
      body["messages"][0]["content"] ==
      json::array({{{"type", "text"}, {"text", line_a}},
                   {{"type", "image"}, {"source", {{"type", "base64"}, {"media_type", "image/png"}, {"data", "UE5H"}}}},
                   {{"type", "text"}, {"text", line_b}},
                   {{"type", "document"},
                    {"title", "b.pdf"},
                    {"source", {{"type", "base64"}, {"media_type", "application/pdf"}, {"data", "UERG"}}}},
                   {{"type", "text"}, {"text", text_c}},
                   {{"type", "text"}, {"text", "look"}}}));
  const json& result = body["messages"][2]["content"][0];
  CHECK(result["type"] == "tool_result");
  REQUIRE(result["content"].size() == 3);
  CHECK(result["content"][0]["text"] == "{\"ok\":true}");
  CHECK(result["content"][2]["source"]["data"] == "U0hPVA==");
}

TEST_CASE("OpenAI gets data URIs, and the images of results in a message of the user") {
  const json body = body_of(provider::openai, with_files());
  CHECK(body["messages"][0]["content"] ==
        json::array(
            {{{"type", "text"}, {"text", line_a}},
             {{"type", "image_url"}, {"image_url", {{"url", "data:image/png;base64,UE5H"}}}},
             {{"type", "text"}, {"text", line_b}},
             {{"type", "file"}, {"file", {{"filename", "b.pdf"}, {"file_data", "data:application/pdf;base64,UERG"}}}},
             {{"type", "text"}, {"text", text_c}},
             {{"type", "text"}, {"text", "look"}}}));
  REQUIRE(body["messages"].size() == 4);
  CHECK(body["messages"][2] == json{{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "{\"ok\":true}"}});
  const json& shown = body["messages"][3];
  CHECK(shown["role"] == "user");
  CHECK(shown["content"][0]["text"] == line_shot);
  CHECK(shown["content"][1]["image_url"]["url"] == "data:image/png;base64,U0hPVA==");
}

TEST_CASE("a message that follows the images of a result joins them at OpenAI") {
  auto request = with_files();
  request.messages.emplace_back(user_message{"and now?"});
  const json body = body_of(provider::openai, request);
  REQUIRE(body["messages"].size() == 4);
  CHECK(body["messages"][3]["content"].back() == json{{"type", "text"}, {"text", "and now?"}});
}

TEST_CASE("OpenAI's Responses API gets input_image and input_file, in results, too") {
  const json body = body_of(provider::responses, with_files());
  CHECK(body["input"][0]["content"] ==
        json::array({{{"type", "input_text"}, {"text", line_a}},
                     {{"type", "input_image"}, {"detail", "auto"}, {"image_url", "data:image/png;base64,UE5H"}},
                     {{"type", "input_text"}, {"text", line_b}},
                     {{"type", "input_file"}, {"filename", "b.pdf"}, {"file_data", "data:application/pdf;base64,UERG"}},
                     {{"type", "input_text"}, {"text", text_c}},
                     {{"type", "input_text"}, {"text", "look"}}}));
  CHECK(body["input"][2]["output"][1]["image_url"] == "data:image/png;base64,U0hPVA==");
}

TEST_CASE("a model without images gets a text in their place, and so does each when the bytes are gone") {
  for (const auto whose : {provider::anthropic, provider::openai, provider::responses}) {
    const auto text = body_of(whose, with_files(), false).dump();
    CHECK(text.find("base64") == std::string::npos);
    CHECK(text.find("a.png (image/png, 3 bytes); it is not shown here: this model reads no images]") !=
          std::string::npos);
    CHECK(text.find("plain words") != std::string::npos);
    auto request = with_files();
    std::get<user_message>(request.messages[0]).files[0].content = nullptr;
    const auto without = body_of(whose, request).dump();
    CHECK(without.find("it is not kept any more") != std::string::npos);
    CHECK(without.find("UE5H") == std::string::npos);
    CHECK(without.find("UERG") != std::string::npos);
  }
}

TEST_CASE("the tokens of a call that was cut are not estimated from the bytes of its images") {
  const auto settings = settings_for("https://host.test/v1", provider::openai);
  const conversation all{user_message{"look", {file("a.png", "image/png", std::string(3'000'000, 'x'))}}};
  CHECK(without_media(4'000'500, settings, all) == 500 + 4 * 1'600);
  CHECK(without_media(500, settings, {user_message{"look"}}) == 500);
  auto blind = settings;
  blind.images = false;
  CHECK(without_media(500, blind, all) == 500);
}

TEST_CASE("an error result shows no bytes to Anthropic, and a message of a file alone needs no words") {
  auto request = with_files();
  std::get<tool_results>(request.messages[2]).results[0].ok = false;
  std::get<user_message>(request.messages[0]).text.clear();
  const json body = body_of(provider::anthropic, request);
  CHECK(body["messages"][2]["content"][0]["content"] == "{\"ok\":true}");
  CHECK(body["messages"][0]["content"].back()["text"] == text_c);
  CHECK(body.dump().find("(empty message)") == std::string::npos);
}
