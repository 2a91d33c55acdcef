// The pure part of `quell acp`: events, stored messages and prompts in the shapes of ACP.
#include <catch2/catch.hpp>

#include "cli/acp/updates.hpp"

using namespace quell::cli::acp;

namespace {

json event(const std::string& type, const json& data, const std::string& of = "turn") {
  return {{"type", type}, {"operation", of}, {"data", data}};
}

json call(const char* id) {
  return {{"operation", id}, {"call", "c1"}, {"name", "exec"}, {"input", {{"command", "ls"}}}};
}

} // namespace

TEST_CASE("text that comes twice is shown once") {
  turn_updates to("turn");
  CHECK(to.take(event("text_delta", {{"offset", 0}, {"text", "hel"}})).at(0)["content"]["text"] == "hel");
  CHECK(to.take(event("text_delta", {{"offset", 0}, {"text", "hello"}})).at(0)["content"]["text"] == "lo");
  CHECK(to.take(event("text_delta", {{"offset", 0}, {"text", "hello"}})).empty());
  CHECK(to.take(event("text_delta", {{"offset", 0}, {"text", "aside"}}, "sub")).empty());
  CHECK(to.rest("hello you").at(0)["content"]["text"] == " you");
}

TEST_CASE("a call is shown at its start and at its end, under the id of its operation") {
  turn_updates to("turn");
  const auto begun = to.take(event("tool_start", call("op")));
  CHECK((begun.at(0)["toolCallId"] == "op" && begun.at(0)["kind"] == "execute"));
  CHECK(to.take(event("tool_start", call("op"))).empty());
  const auto over = to.take(event("tool_result", {{"call", "c1"}, {"name", "exec"}, {"ok", false}, {"result", "no"}}));
  CHECK((over.at(0)["toolCallId"] == "op" && over.at(0)["status"] == "failed"));
}

TEST_CASE("a call that waits for a human is pending, and asks once it is known") {
  turn_updates to("turn");
  const auto asks = event("approval_required", call("op"));
  CHECK(to.take(asks).at(0)["status"] == "pending");
  CHECK(to.take(asks).empty());
  const auto q = to.question(asks);
  CHECK((q.operation == "op" && q.question.empty() && q.params["options"].size() == 2));
  CHECK_FALSE(q.params["toolCall"].contains("sessionUpdate"));
  CHECK(to.take(event("tool_start", call("op"))).at(0)["status"] == "in_progress");
}

TEST_CASE("a prompt's links and embedded texts become its text, and images are refused") {
  std::string why;
  const json blocks = {{{"type", "text"}, {"text", "look at"}},
                       {{"type", "resource_link"}, {"name", "a"}, {"uri", "file:///a"}},
                       {{"type", "resource"}, {"resource", {{"uri", "file:///b"}, {"text", "beta"}}}}};
  CHECK(prompt_text(blocks, why) == "look at\n[a](file:///a)\n<file uri=\"file:///b\">\nbeta\n</file>");
  CHECK_FALSE(prompt_text({{{"type", "image"}}}, why));
  CHECK_FALSE(prompt_text("text", why));
  CHECK_FALSE(why.empty());
}
