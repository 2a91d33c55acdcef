// Other people's protocols, pure: what their bodies say, and what a turn's events become.
#include <catch2/catch.hpp>

#include "gateway/compat/completion_body.hpp"
#include "gateway/compat/completion_chunks.hpp"
#include "gateway/compat/ui_body.hpp"
#include "gateway/compat/ui_parts.hpp"
#include "gateway/hangup.hpp"
#include "gateway/openai_error.hpp"

using namespace quell;
using namespace quell::controller::http;
using nlohmann::json;

namespace {

const auto turn = operation_id::fresh();

rendered_event event(const std::string& type, const json& data, const operation_id& of = turn) {
  rendered_event e;
  e.record.id = 1;
  e.record.type = event_type_of(type).value();
  e.record.operation = of;
  e.json = std::make_shared<const std::string>(json{{"type", type}, {"data", data}}.dump());
  return e;
}

rendered_event text(const std::string& words) { return event("text_delta", {{"offset", 0}, {"text", words}}); }

/// The documents of the frames, without the last word.
std::vector<json> frames(const std::string& bytes) {
  std::vector<json> found;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto end = bytes.find("\n\n", at);
    const auto line = bytes.substr(at, end - at);
    REQUIRE(line.starts_with("data: "));
    if (line != "data: [DONE]") found.push_back(json::parse(line.substr(6)));
    at = end + 2;
  }
  return found;
}

std::string completion(const json& messages, const json& more = json::object()) {
  json body = {{"model", "main"}, {"messages", messages}};
  body.update(more);
  return body.dump();
}

json message(const std::string& role, const json& content) { return {{"role", role}, {"content", content}}; }

} // namespace

TEST_CASE("the newest message of a completion is answered, and the earlier ones go before it") {
  const auto read = read_completion(
      completion({message("system", "be brief"), message("user", "one"), message("assistant", "two"),
                  message("user", {{{"type", "text"}, {"text", "thr"}}, {{"type", "text"}, {"text", "ee"}}})},
                 {{"temperature", 0.5},
                  {"stream", true},
                  {"stream_options", {{"include_usage", true}}},
                  {"tools", json::array()}}));
  REQUIRE(read);
  CHECK((read->agent == "main" && read->streams && read->wants_usage));
  CHECK(read->conversation.text == "three");
  const auto context = context_text(read->conversation.before);
  CHECK(context.find("be brief") < context.find("one"));
  CHECK(context.find("one") < context.find("<message role=\"assistant\">\ntwo"));
  CHECK(context_text({}).empty());
}

TEST_CASE("of very many wrong messages the first ones are listed") {
  json wrong = json::array(), without_parts = json::array();
  for (int i = 0; i < 200; ++i) {
    wrong.push_back(message("user", 7));
    without_parts.push_back({{"role", "user"}});
  }
  const auto read = read_completion(completion(wrong));
  REQUIRE_FALSE(read);
  CHECK(read.error().errors.size() == 64);
  CHECK(read.error().errors.back().pointer == "/messages/63/content");
  const auto chat = read_ui_chat(json{{"messages", without_parts}}.dump());
  REQUIRE_FALSE(chat);
  CHECK(chat.error().errors.size() == 64);
}

TEST_CASE("what would change the meaning of a completion is refused, every fault at once") {
  const auto read =
      read_completion(completion(json::array({message("user", "x")}),
                                 {{"n", 2}, {"tools", {{{"type", "function"}}}}, {"stop", "x"}, {"user", ""}}));
  REQUIRE_FALSE(read);
  for (const auto& e : read.error().errors) UNSCOPED_INFO(e.pointer << ": " << e.message);
  CHECK(read.error().errors.size() == 4);
  CHECK_FALSE(read_completion(completion(json::array())));
  CHECK_FALSE(read_completion(completion(json::array({message("assistant", "x")}))));
  CHECK_FALSE(read_completion(completion({message("user", "  ")})));
  CHECK_FALSE(read_completion(completion({message("user", {{{"type", "image_url"}}})})));
  CHECK_FALSE(read_completion(completion({message("user", {{{"type", "input_audio"}}})})));
  CHECK_FALSE(read_completion(completion({message("user", std::string(max_message_bytes + 1, 'x'))})));
  const auto much =
      read_completion(completion({message("user", std::string(max_prior_bytes + 1, 'x')), message("user", "x")}));
  REQUIRE_FALSE(much);
  const auto answer = openai_error_answer(much.error(), request_id::fresh());
  CHECK(answer.status == 413);
  CHECK(json::parse(answer.body)["error"]["code"] == "context_length_exceeded");
}

TEST_CASE("a turn becomes chunks, and the events of its sub-agents do not") {
  completion_chunks chunks(turn, {"chatcmpl-1", 7, "main"}, true);
  CHECK(frames(chunks.first()).front()["choices"][0]["delta"]["role"] == "assistant");
  CHECK(frames(chunks.frame(text("hi"))).front()["choices"][0]["delta"]["content"] == "hi");
  CHECK(chunks.frame(event("text_delta", {{"text", "aside"}}, operation_id::fresh())).empty());
  CHECK(chunks.frame(event("tool_start", {{"call", "c"}, {"name", "list"}})).empty());
  const json usage = {{"input_tokens", 3}, {"output_tokens", 4}};
  const auto last = frames(chunks.frame(
      event("operation_completed", {{"turn", {{"text", "hi"}, {"stop_reason", "length"}, {"usage", usage}}}})));
  CHECK(last.at(0)["choices"][0]["finish_reason"] == "length");
  CHECK((last.at(1)["choices"].empty() && last.at(1)["usage"]["total_tokens"] == 7));
  CHECK(json::parse(whole_completion({"chatcmpl-1", 7, "main"}, *chunks.end()))["choices"][0]["message"]["content"] ==
        "hi");
}

TEST_CASE("the whole answer has the thinking, and the end knows the rest that was told") {
  completion_chunks chunks(turn, {"chatcmpl-1", 7, "main"}, false);
  chunks.frame(event("thinking_delta", {{"offset", 0}, {"text", "Hm. "}}));
  chunks.frame(event("text_delta", {{"offset", 4}, {"text", "blau"}}));
  chunks.frame(event("thinking_delta", {{"offset", 4}, {"text", "So."}}));
  chunks.frame(event("operation_completed", {{"turn", {{"text", "Färb|blau"}}}}));
  REQUIRE(chunks.end());
  CHECK((chunks.end()->text == "Färb|blau" && chunks.end()->rest == "|blau"));
  const auto message = json::parse(whole_completion({"chatcmpl-1", 7, "main"}, *chunks.end()))["choices"][0]["message"];
  CHECK(message["reasoning_content"] == "Hm. So.");
  completion_chunks silent(turn, {"chatcmpl-1", 7, "main"}, false);
  silent.frame(event("operation_completed", {{"turn", {{"text", "said before"}}}}));
  CHECK(silent.end()->rest.empty());
}

TEST_CASE("a cancelled turn is an error in its chunks, with the reason") {
  completion_chunks chunks(turn, {"chatcmpl-1", 7, "main"}, false);
  const auto last = frames(chunks.frame(event("operation_cancelled", {{"stop", {{"reason", "enough"}}}})));
  CHECK(last.at(0)["error"]["code"] == "cancelled");
  CHECK(last.at(0)["error"]["message"].get<std::string>().find("enough") != std::string::npos);
  CHECK(chunks.end()->as == turn_end::how::cancelled);
}

TEST_CASE("a client that returns to its turn reads of replaced text only what replaced it") {
  const auto at = [](std::uint64_t id, rendered_event e) {
    e.record.id = id;
    return e;
  };
  const auto contents = [](const std::string& bytes) {
    std::string all;
    for (const auto& one : frames(bytes)) all += one["choices"][0]["delta"].value("content", "");
    return all;
  };
  completion_chunks chunks(turn, {"id", 1, "main"}, false);
  chunks.catch_up_to(8);
  std::string bytes = chunks.frame(at(1, text("Lösung. ")));
  bytes += chunks.frame(at(2, event("tool_start", {{"call", "c"}, {"name", "list"}}))); // what came before it stays
  CHECK(contents(bytes) == "Lösung. ");
  bytes += chunks.frame(at(3, text("Half a")));
  bytes += chunks.frame(at(4, event("model_usage", json::object())));
  bytes += chunks.frame(at(5, event("turn_resumed", {{"offset", 10}}))); // behind "Lösung. Ha"
  CHECK(contents(bytes) == "Lösung. ");
  bytes += chunks.frame(at(9, text(" whole")));
  bytes += chunks.frame(at(0, text(" answer."))); // of this moment
  CHECK(contents(bytes) == "Lösung. Ha whole answer.");

  completion_chunks later(turn, {"id", 1, "main"}, false);
  later.catch_up_to(4);
  bytes = later.frame(at(3, text("Half a")));
  bytes += later.frame(at(9, event("turn_resumed", {{"offset", 0}}))); // the turn goes on after its client is back
  bytes += later.frame(at(10, text("Whole.")));
  CHECK(contents(bytes) == "Whole.");
}

TEST_CASE("text that a resumed turn replaces begins a paragraph of its own") {
  completion_chunks chunks(turn, {"chatcmpl-1", 7, "main"}, false);
  chunks.frame(text("half a sen"));
  CHECK(frames(chunks.frame(event("turn_resumed", {{"offset", 0}}))).at(0)["choices"][0]["delta"]["content"] == "\n\n");
  CHECK(chunks.frame(event("turn_resumed", {{"offset", 0}})).empty());
}

TEST_CASE("a page gets blocks of text and reasoning, and calls between them") {
  ui_parts parts(turn);
  std::string all = ui_parts::first("m");
  all += parts.frame(event("thinking_delta", {{"text", "hm"}}));
  all += parts.frame(text("a"));
  all += parts.frame(text("b"));
  all += parts.frame(event("tool_start", {{"call", "c"}, {"name", "list"}, {"input", {{"path", "."}}}}));
  all += parts.frame(event("tool_result", {{"call", "c"}, {"name", "list"}, {"ok", true}, {"result", {{"ok", true}}}}));
  all += parts.frame(text("c"));
  all += parts.frame(event("operation_completed", json::object()));
  std::vector<std::string> types;
  for (const auto& part : frames(all)) types.push_back(part["type"]);
  CHECK(types == std::vector<std::string>{"start", "start-step", "reasoning-start", "reasoning-delta", "reasoning-end",
                                          "text-start", "text-delta", "text-delta", "text-end", "tool-input-available",
                                          "tool-output-available", "text-start", "text-delta", "text-end",
                                          "finish-step", "finish"});
}

TEST_CASE("a page's messages are read, and an unknown member is refused") {
  const json message = {{"id", "1"}, {"role", "user"}, {"parts", {{{"type", "text"}, {"text", "hello"}}}}};
  const auto read = read_ui_chat(json{{"id", "chat"}, {"trigger", "submit-message"}, {"messages", {message}}}.dump());
  REQUIRE(read);
  CHECK(read->conversation.text == "hello");
  CHECK(read->chat == "chat");
  CHECK(read->message == "1");
  CHECK_FALSE((read->regenerates || read->edits || read->outlives_client));
  CHECK_FALSE(read_ui_chat(json{{"model", "x"}, {"messages", {message}}}.dump()));
  CHECK_FALSE(read_ui_chat("{}"));
}

TEST_CASE("a page's request says whether its message is new, edited or asked again", "[compat]") {
  const json message = {{"id", "1"}, {"role", "user"}, {"parts", {{{"type", "text"}, {"text", "hello"}}}}};
  const auto read = [&](json more) {
    more["messages"] = {message};
    return read_ui_chat(more.dump());
  };
  CHECK(read({{"trigger", "submit-message"}, {"messageId", "1"}})->edits);
  CHECK_FALSE(read({{"trigger", "submit-message"}, {"messageId", "2"}})->edits); // of a tool's result, for example
  const auto again = read({{"trigger", "regenerate-message"}, {"messageId", "1"}});
  CHECK((again->regenerates && !again->edits));
  CHECK(read({{"on_disconnect", "continue"}})->outlives_client);
  CHECK_FALSE(read({{"on_disconnect", "maybe"}}));
  CHECK(read({{"id", std::string(129, 'x')}})->chat.empty()); // fits no label
  CHECK(read({{"id", nullptr}, {"messageId", nullptr}})->chat.empty());
}

TEST_CASE("the end of a TLS connection is told from its next request") {
  CHECK(is_tls_alert(std::string_view("\x15\x03\x03\x00\x1a", 5)));       // 1.2
  CHECK(is_tls_alert(std::string_view("\x17\x03\x03\x00\x13", 5)));       // 1.3
  CHECK_FALSE(is_tls_alert(std::string_view("\x17\x03\x03\x00\x40", 5))); // a request
  CHECK_FALSE(is_tls_alert("\x17"));
}
