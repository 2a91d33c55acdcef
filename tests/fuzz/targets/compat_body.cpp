// Bodies in other people's protocols: a chat completion, and the messages of a UI chat. The conversation that is read
// keeps the limits, and at most the newest images of it are shown.
#include <algorithm>
#include <array>
#include <set>

#include "gateway/compat/completion_body.hpp"
#include "gateway/compat/ui_body.hpp"
#include "protocol/attachment.hpp"
#include "protocol/base64.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/read_body.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::controller::http;

constexpr std::array roles{"system", "developer", "user", "assistant", "tool", "function"};

void check_few(const problem& p) { expect(p.errors.size() <= 100, "a problem lists few of very many errors"); }

void check_images(const prior_message& m) {
  expect(m.images.empty() || m.role == "user", "only a user's messages hold images");
  for (const auto& image : m.images)
    expect(media_kind_of(image.type) == media_kind::image && check_media(image.type, image.bytes) &&
               image.pointer.starts_with("/messages/"),
           "an image is what its type says, and its place is known");
}

void check_shown(sent_conversation conversation, shown_messages of) {
  const auto own = conversation.images.size();
  const auto shown = shown_images(conversation, of);
  expect(shown.size() <= most_attachments && shown.size() >= own, "the newest message's images are shown, and few");
  std::set<std::string> names;
  for (const auto& image : shown) expect(names.insert(image.name).second, "an image has a name of its own");
  expect(conversation.images.empty(), "every image is taken out of the conversation");
  for (const auto& m : conversation.before) expect(m.images.empty(), "every image is taken out of the conversation");
  expect(is_utf8(context_text(conversation.before)), "the earlier messages are UTF-8");
}

void check(const sent_conversation& conversation) {
  expect(conversation.text.size() <= max_message_bytes && is_utf8(conversation.text), "a text is bounded and UTF-8");
  expect(!conversation.text.empty() || !conversation.images.empty(), "the newest message says something");
  expect(conversation.images.size() <= most_attachments, "a message has few images");
  std::size_t earlier = 0;
  for (const auto& m : conversation.before) {
    expect(std::find(roles.begin(), roles.end(), m.role) != roles.end(), "a role is known");
    check_images(m);
    earlier += m.text.size();
  }
  expect(earlier <= max_prior_bytes, "the earlier messages are bounded");
  check_images({.role = "user", .images = conversation.images});
  check_shown(conversation, shown_messages::newest);
  check_shown(conversation, shown_messages::all);
}

void completion(std::string_view body) {
  const auto request = read_completion(body);
  if (!taken(request)) return check_few(request.error());
  expect(!request->agent.empty(), "a completion names its agent");
  expect(!request->user || (!request->user->empty() && request->user->size() <= 128), "a user's name is short");
  check(request->conversation);
}

void ui_chat(std::string_view body) {
  const auto request = read_ui_chat(body);
  if (!taken(request)) return check_few(request.error());
  expect(request->agent.size() <= 4 * 64, "an agent's name is short");
  check(request->conversation);
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto body = bytes.substr(1);
  if (bytes.front() % 2 == 0)
    completion(body);
  else
    ui_chat(body);
}

std::vector<std::string> seeds() {
  const auto png = "data:image/png;base64," + base64("\x89PNG\r\n\x1a\n0000");
  const std::string image = R"({"type":"image_url","image_url":{"url":")" + png + R"("}})";
  const std::string file = R"({"type":"file","mediaType":"image/png","url":")" + png + R"("})";
  std::vector<std::string> completions = {
      R"({"model":"main","messages":[{"role":"user","content":"hello"}]})",
      R"({"model":"main","stream":true,"stream_options":{"include_usage":true},"user":"alice","temperature":0.5,"n":1,"tools":[],"response_format":{"type":"text"},"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},{"role":"tool","tool_call_id":"1","content":"b"},{"role":"assistant","content":[{"type":"refusal","text":"no"}]},{"role":"user","content":[{"type":"text","text":"c"}]}]})",
      R"({"model":"main","messages":[{"role":"user","content":[)" + image + R"(]},{"role":"user","content":[)" + image +
          "," + image + R"(]}]})",
      R"({"model":"main","messages":[{"role":"assistant","content":[)" + image + R"(]}]})",
      R"({"model":"main","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]})",
      R"({"model":"","stream":1,"user":"","stop":["x"],"n":2,"response_format":{"type":"json_object"},"messages":[]})",
      R"({"model":"main","messages":[{"role":"user","content":"\ud800"}]})"};
  std::vector<std::string> chats = {
      R"({"id":"chat","trigger":"submit-message","messageId":"m","agent":"main","scope":"team/ui","author":{"id":"alice","name":"Alice"},"messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"hello"}]}]})",
      R"({"messages":[{"id":"1","role":"user","parts":[)" + file +
          R"(]},{"id":"2","role":"assistant","parts":[{"type":"reasoning","text":"r"},{"type":"text","text":"a"}]},{"id":"3","role":"user","parts":[{"type":"text","text":"b"},)" +
          file + R"(]}]})",
      R"({"messages":[{"id":"1","role":"user","parts":[{"type":"file","url":7}]}]})",
      R"({"messages":[{"role":"user"},{"role":"robot","parts":[]},7]})", R"({"model":"x","messages":[]})"};
  std::vector<std::string> all;
  for (const auto& text : completions) all.push_back(std::string(1, '\0') + text);
  for (const auto& text : chats) all.push_back("\1" + text);
  return all;
}

const known_target known("compat_body", run, seeds);

} // namespace
} // namespace quell::fuzz
