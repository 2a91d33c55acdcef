// Images in the bodies of OpenAI's clients and of useChat: what is taken, what is refused and where, and which of a
// conversation a model is shown.
#include <catch2/catch.hpp>

#include "gateway/compat/completion_body.hpp"
#include "gateway/compat/ui_body.hpp"
#include "protocol/attachment.hpp"
#include "protocol/base64.hpp"

using namespace quell;
using namespace quell::controller::http;
using nlohmann::json;

namespace {

const std::string picture = std::string("\x89PNG\r\n\x1a\n") + "a picture of a cat";

std::string url_of(const std::string& bytes = picture, const std::string& type = "image/png") {
  return "data:" + type + ";base64," + base64(bytes);
}

json image_part(const json& url) { return {{"type", "image_url"}, {"image_url", {{"url", url}, {"detail", "high"}}}}; }
json message_of(const json& content, const std::string& role = "user") {
  return {{"role", role}, {"content", content}};
}

tl::expected<completion_request, problem> completion_of(const std::vector<json>& messages) {
  return read_completion(json{{"model", "main"}, {"messages", messages}}.dump());
}

/// The pointer of the only error.
std::string refused_at(const std::vector<json>& messages) {
  const auto read = completion_of(messages);
  if (read || read.error().errors.size() != 1) return read ? "taken" : "several errors";
  INFO(read.error().errors[0].message);
  return read.error().errors[0].pointer;
}

} // namespace

TEST_CASE("images of the four types are taken, also without a word of text") {
  const auto read =
      completion_of({message_of({image_part(url_of()), image_part(url_of("\xff\xd8\xff the rest of it", "IMAGE/JPEG")),
                                 image_part(url_of("GIF89a the rest of it", "image/gif")),
                                 image_part(url_of("RIFF....WEBP and more", "image/webp;x=y"))})});
  REQUIRE(read);
  const auto& images = read->conversation.images;
  REQUIRE(images.size() == 4);
  CHECK((images[0].bytes == picture && images[0].type == "image/png"));
  CHECK((images[1].type == "image/jpeg" && images[3].type == "image/webp"));
}

TEST_CASE("a data URL without an image is refused with its place") {
  const auto at = [](const json& url) {
    return refused_at({message_of("one"), message_of({{{"type", "text"}, {"text", "x"}}, image_part(url)})});
  };
  const std::string place = "/messages/1/content/1/image_url/url";
  CHECK(at("https://example.org/cat.png") == place);
  CHECK(at("http://127.0.0.1/cat.png") == place);
  CHECK(at("file:///etc/passwd") == place);
  CHECK(at("data:") == place);
  CHECK(at("data:image/png," + base64(picture)) == place);
  CHECK(at("data:image/png;base64,%%%") == place);
  CHECK(at("data:image/png;base64,") == place);
  CHECK(at(url_of(picture, "image/jpeg")) == place);
  CHECK(at(url_of("<svg xmlns='x'></svg>", "image/svg+xml")) == place);
  CHECK(at(url_of("%PDF-1.7 a document", "application/pdf")) == place);
  CHECK(at(7) == place);
  CHECK(refused_at({message_of(json::array({{{"type", "image_url"}, {"image_url", url_of()}}}))}) ==
        "/messages/0/content/0/image_url/url");
  CHECK(refused_at({message_of(json::array({image_part(url_of())}), "assistant"), message_of("x")}) ==
        "/messages/0/content/0/image_url/url");
  CHECK(refused_at({message_of(json(most_attachments + 1, image_part(url_of())))}) ==
        "/messages/0/content/10/image_url/url");
}

TEST_CASE("images of earlier messages go along, the newest ten, and each is named where it stood") {
  json many = json::array();
  for (int i = 0; i < 9; ++i) many.push_back(image_part(url_of(picture + std::to_string(i))));
  const std::vector<json> messages = {
      message_of(many), message_of("nine cats", "assistant"),
      message_of({{{"type", "text"}, {"text", "and these"}}, image_part(url_of()), image_part(url_of())})};
  auto conversation = completion_of(messages)->conversation;
  const auto shown = shown_images(conversation, shown_messages::all);
  REQUIRE(shown.size() == most_attachments);
  CHECK((shown.front().name == "image-2.png" && shown.front().bytes == picture + "1"));
  CHECK(shown.back().name == "image-11.png");
  const auto context = context_text(conversation.before);
  CHECK(context.find("[image-1.png: not shown") != std::string::npos);
  CHECK(context.find("[image-2.png]") != std::string::npos);
  auto kept = completion_of(messages)->conversation;
  CHECK(shown_images(kept, shown_messages::newest).size() == 2); // quell has the earlier ones
}

TEST_CASE("the files of a page's message are its images") {
  const auto page = [](const json& url) {
    const json parts = {{{"type", "file"}, {"mediaType", "image/png"}, {"url", url}},
                        {{"type", "text"}, {"text", "what"}}};
    return read_ui_chat(json{{"messages", {{{"id", "1"}, {"role", "user"}, {"parts", parts}}}}}.dump());
  };
  REQUIRE(page(url_of()));
  CHECK(page(url_of())->conversation.images.at(0).bytes == picture);
  REQUIRE_FALSE(page("https://example.org/cat.png"));
  CHECK(page("https://example.org/cat.png").error().errors.at(0).pointer == "/messages/0/parts/0/url");
}
