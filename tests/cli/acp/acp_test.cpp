// The pure part of `quell acp`: events, stored messages and prompts in the shapes of ACP.
#include <catch2/catch.hpp>

#include "cli/acp/updates.hpp"
#include "protocol/attachment.hpp"
#include "protocol/base64.hpp"

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
  const auto q = to.question(asks, editor_shows::forms);
  CHECK(q.how == editor_request::permission);
  CHECK((q.operation == "op" && q.question.empty() && q.params["options"].size() == 2));
  CHECK_FALSE(q.params["toolCall"].contains("sessionUpdate"));
  CHECK(to.take(event("tool_start", call("op"))).at(0)["status"] == "in_progress");
}

TEST_CASE("what an agent asks offers its choices, or says how to answer in words") {
  turn_updates to("turn");
  auto data = call("op");
  data["question"] = {{"id", "q"}, {"asked_by", "agent"}, {"message", "Which?"}};
  data["question"]["form"]["properties"]["answer"] = {{"type", "string"}, {"enum", {"red", "blue"}}};
  auto question_event = event("approval_required", data);
  question_event["scope"] = "a/b";
  const auto chosen = to.question(question_event, editor_shows::options);
  CHECK(chosen.params["toolCall"]["title"] == "Which?");
  REQUIRE(chosen.params["options"].size() == 3);
  CHECK(chosen.params["options"][1]["name"] == "blue");
  CHECK(chosen.values.at("answer-2") == json{{"answer", "blue"}});
  CHECK(chosen.params["options"][2]["optionId"] == "reject");

  question_event["data"]["question"]["form"]["properties"]["answer"] = {{"type", "string"}, {"default", "red"}};
  CHECK(to.question(question_event, editor_shows::options).values.at("answer-1") == json{{"answer", "red"}});

  question_event["data"]["question"]["form"]["properties"]["answer"] = {{"type", "string"}};
  const auto free = to.question(question_event, editor_shows::options);
  CHECK(free.params["options"].size() == 1);
  CHECK(free.params["toolCall"]["title"] == "Which? (answer with: quell say --scope a/b …)");
  const auto no = decision_in(free, {{"outcome", {{"outcome", "selected"}, {"optionId", "reject"}}}});
  CHECK_FALSE((no.accepts || no.is_none));
  CHECK(decision_in(chosen, {{"outcome", {{"optionId", "answer-2"}}}}).values == json{{"answer", "blue"}});
  // Neither an editor's answer right before its `session/cancel` nor an error is a decision.
  CHECK(decision_in(chosen, {{"outcome", {{"outcome", "cancelled"}}}}).is_none);
  CHECK(decision_in(chosen, json()).is_none);
  // So is what was never offered, in whatever shape it comes.
  for (const json& odd : {json{{"outcome", {{"outcome", "selected"}, {"optionId", "allow"}}}}, json::object(), json(5),
                          json{{"outcome", "selected"}}, json{{"outcome", {{"optionId", 1}}}}, json::array({"reject"}),
                          json{{"outcome", {{"outcome", "selected"}}}}, json{{"optionId", "reject"}}})
    CHECK(decision_in(chosen, odd).is_none);
}

TEST_CASE("a call about which a rule asks can be allowed for longer, and nothing else can") {
  turn_updates to("turn");
  auto data = call("op");
  data["rule"] = "exec: rm *";
  const auto kinds = [&](const json& of) {
    std::string all;
    const auto q = to.question(event("approval_required", of), editor_shows::forms);
    for (const auto& option : q.params["options"]) all += option["kind"].get<std::string>() + " ";
    return all;
  };
  CHECK(kinds(data) == "allow_once allow_always reject_once ");
  const auto q = to.question(event("approval_required", data), editor_shows::forms);
  const auto chose = [](const char* option) {
    return json{{"outcome", {{"outcome", "selected"}, {"optionId", option}}}};
  };
  CHECK((decision_in(q, chose("always")).is_always && decision_in(q, chose("always")).accepts));
  CHECK((decision_in(q, chose("allow")).accepts && !decision_in(q, chose("allow")).is_always));
  CHECK(decision_in(once_only(q), chose("always")).is_none);
  CHECK(decision_in(once_only(q), chose("allow")).accepts);
  data["input"]["command"] = std::string(16 * 1024, 'x'); // larger than what can stand
  CHECK(kinds(data) == "allow_once reject_once ");
  CHECK(kinds(call("op")) == "allow_once reject_once "); // no rule asked
  data["input"]["command"] = "ls";
  data["question"] = {{"id", "q"}, {"asked_by", "server"}, {"message", "Sure?"}};
  CHECK(kinds(data) == "allow_once reject_once "); // it has begun
}

TEST_CASE("a request and its end have the same key") {
  turn_updates to("turn");
  auto data = call("op");
  CHECK(to.question(event("approval_required", data), editor_shows::options).key() == "op ");
  data["question"] = {{"id", "q"}, {"asked_by", "agent"}, {"message", "Which?"}};
  CHECK(to.question(event("approval_required", data), editor_shows::options).key() == "op q");
}

TEST_CASE("an editor that shows forms gets the form of a question, and its answer has the person's own words") {
  turn_updates to("turn");
  auto data = call("op");
  data["question"] = {{"id", "q"}, {"asked_by", "agent"}, {"message", "Why?"}};
  data["question"]["form"]["properties"]["answer"] = {{"type", "string"}};
  const auto q = to.question(event("approval_required", data), editor_shows::forms);
  CHECK((q.how == editor_request::form && q.is_agents));
  CHECK((q.params["mode"] == "form" && q.params["message"] == "Why?" && q.params["toolCallId"] == "op"));
  CHECK(q.params["requestedSchema"] == data["question"]["form"]);
  const auto accepted = decision_in(q, {{"action", "accept"}, {"content", {{"answer", "because"}}}});
  CHECK((accepted.accepts && accepted.values == json{{"answer", "because"}}));
  const auto declined = decision_in(q, {{"action", "decline"}}), cancelled = decision_in(q, {{"action", "cancel"}});
  CHECK_FALSE((declined.accepts || declined.is_dismissed || cancelled.accepts));
  CHECK(cancelled.is_dismissed);
  CHECK(decision_in(q, json()).is_none); // an error of the editor
  for (const json& odd : {json::object(), json{{"action", "yes"}}, json{{"action", true}}, json("accept")})
    CHECK(decision_in(q, odd).is_none);
  CHECK(decision_in(q, {{"action", "accept"}, {"content", {1, 2}}}).values == json::object());
  CHECK_FALSE((accepted.is_none || declined.is_none || cancelled.is_none));
}

TEST_CASE("a prompt's links and embedded texts become its text") {
  std::string why;
  const json blocks = {{{"type", "text"}, {"text", "look at"}},
                       {{"type", "resource_link"}, {"name", "a"}, {"uri", "file:///a"}},
                       {{"type", "resource"}, {"resource", {{"uri", "file:///b"}, {"text", "beta"}}}}};
  const auto content = prompt_content_of(blocks, why);
  REQUIRE(content);
  CHECK(content->text == "look at\n[a](file:///a)\n<file uri=\"file:///b\">\nbeta\n</file>");
  CHECK(content->images.empty());
  CHECK_FALSE(prompt_content_of({{{"type", "audio"}}}, why));
  CHECK_FALSE(prompt_content_of("text", why));
  CHECK_FALSE(why.empty());
}

TEST_CASE("a prompt's images are decoded and checked") {
  const std::string png = std::string("\x89PNG\r\n\x1a\n") + "a picture of a cat";
  const auto image = [](const std::string& type, const std::string& data) {
    return json{{"type", "image"}, {"mimeType", type}, {"data", data}};
  };
  std::string why;
  const auto content =
      prompt_content_of({{{"type", "text"}, {"text", "what is it"}}, image("image/png", quell::base64(png))}, why);
  REQUIRE(content);
  REQUIRE(content->images.size() == 1);
  CHECK((content->images[0].bytes == png && content->images[0].name == "image-1.png"));
  const auto refused = [&](const json& block) {
    why.clear();
    return !prompt_content_of(json::array({block}), why) && !why.empty();
  };
  CHECK(refused(image("image/jpeg", quell::base64(png))));
  CHECK(refused(image("image/svg+xml", quell::base64(png))));
  CHECK(refused(image("image/png", "not base64")));
  CHECK(refused({{"type", "image"}}));
  CHECK(prompt_content_of(json(quell::most_attachments, image("image/png", quell::base64(png))), why));
  CHECK_FALSE(prompt_content_of(json(quell::most_attachments + 1, image("image/png", quell::base64(png))), why));
}

namespace {

/// The shown part of messages `ROLE TURN TEXT`, a discarded one with `-` before it.
std::string past_of(const std::vector<std::vector<std::string>>& messages) {
  shown_past past;
  for (const auto& one : messages) {
    const bool is_gone = one[0].front() == '-';
    json message = {{"role", is_gone ? one[0].substr(1) : one[0]}, {"text", one[2]}, {"discarded", is_gone}};
    message["turn"] = one[1].empty() ? json() : json(one[1]);
    message["summary"] = one[0] == "summary" ? json{{"clear", one[2].empty()}} : json();
    past.take(message);
  }
  CHECK(past.is_empty() == messages.empty());
  std::string shown;
  for (const auto& update : std::move(past).updates()) shown += update["content"]["text"].get<std::string>() + " ";
  return shown;
}

} // namespace

TEST_CASE("a loaded session shows what is part of its conversation, each message once") {
  CHECK(past_of({}).empty());
  // An edit, a regeneration: the request is discarded, its answers lie behind it.
  CHECK(past_of(
            {{"-user", "1", "hello"}, {"assistant", "1", "Hello."}, {"user", "2", "hi"}, {"assistant", "2", "Hi."}}) ==
        "hi Hi. ");
  // A message that steered waited as a turn of its own; its copy stands where it was read.
  CHECK(past_of({{"user", "1", "go"}, {"-user", "2", "left"}, {"user", "1", "left"}, {"assistant", "1", "Gone."}}) ==
        "go left Gone. ");
  // A message without a turn that was edited again.
  CHECK(past_of({{"-user", "", "a"}, {"user", "", "b"}}) == "b ");
  // A summary stands for others, which a person still reads; a clear took them out.
  CHECK(past_of({{"user", "1", "a"}, {"summary", "", "of a"}, {"user", "2", "b"}}) == "a b ");
  CHECK(past_of({{"user", "1", "a"}, {"summary", "", ""}, {"user", "2", "b"}}) == "b ");
  CHECK(past_of({{"-user", "1", "a"}}).empty());
}

TEST_CASE("a replayed message names its files") {
  const json file = {{"name", "cat.png"}, {"type", "image/png"}, {"bytes", 26}};
  const auto shown = replayed({{"role", "user"}, {"text", ""}, {"attachments", {file}}});
  CHECK(shown.at(0)["content"]["text"] == "[attached: cat.png (image/png, 26 bytes)]");
}
