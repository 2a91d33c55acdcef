// Images in results of MCP tools: taken out as bytes, with a line in their place.
#include <catch2/catch.hpp>

#include "integrations/mcp/answers.hpp"
#include "integrations/mcp/media.hpp"
#include "protocol/base64.hpp"

using namespace quell;
using namespace quell::integrations;

namespace {

const std::string png = std::string("\x89PNG\r\n\x1a\n") + "the rest of a picture";

json image(const std::string& data, const std::string& type = "image/png") {
  return {{"type", "image"}, {"mimeType", type}, {"data", data}};
}

std::vector<mcp_media> taken(json& content) { return mcp::take_media(content); }

} // namespace

TEST_CASE("an image of a result becomes bytes, and a line in the result") {
  json content = json::array({json{{"type", "text"}, {"text", "click"}}, image(base64(png))});
  const auto media = taken(content);
  CHECK(media == std::vector<mcp_media>{{"image/png", png}});
  CHECK(content[0]["text"] == "click");
  CHECK(content[1] == json{{"type", "text"}, {"text", "[image/png, " + std::to_string(png.size()) + " bytes]"}});
}

TEST_CASE("an embedded document is taken, any other resource stays") {
  const auto resource = [](const std::string& type, const json& more) {
    json inner{{"uri", "file:///a"}, {"mimeType", type}};
    inner.update(more);
    return json{{"type", "resource"}, {"resource", inner}};
  };
  const std::string pdf = "%PDF-1.7 and so on";
  json content =
      json::array({resource("application/pdf", {{"blob", base64(pdf)}}), resource("text/plain", {{"text", "words"}}),
                   resource("application/zip", {{"blob", "UEsDBA=="}})});
  const auto before = content;
  const auto media = taken(content);
  CHECK(media == std::vector<mcp_media>{{"application/pdf", pdf}});
  CHECK(content[1] == before[1]);
  CHECK(content[2] == before[2]);
}

TEST_CASE("bytes that a provider would refuse are left out, and so is what is too many") {
  json content = json::array({image(base64("no picture at all")), image("not base64!"),
                              image(base64(png), "image/svg+xml"), image("=AAA"), json{{"type", "image"}}, json(7)});
  CHECK(taken(content).empty());
  for (std::size_t i = 0; i < 5; ++i) CHECK(content[i]["type"] == "text");
  CHECK(content[5] == 7);
  json many = json::array();
  for (int i = 0; i < 12; ++i) many.push_back(image(base64(png)));
  CHECK(taken(many).size() == 10);
  CHECK(many[11]["text"] == "[image/png, left out: there are too many]");
  json none;
  CHECK(taken(none).empty());
}

TEST_CASE("a large image does not make its result too large") {
  const auto ended = mcp::ended_with("s", {{"content", json::array({image(base64(png + std::string(2 << 20, 'x')))})}});
  const auto& end = std::get<mcp_call_events::finished>(ended);
  CHECK_FALSE(end.truncated);
  REQUIRE(end.media.size() == 1);
  CHECK(end.result.size() < 1000);
  const auto plain = mcp::ended_with("s", {{"isError", false}});
  CHECK(std::get<mcp_call_events::finished>(plain).result == R"({"isError":false})");
}
