// The stream of OpenAI's Responses API, valid and broken.
#include "tests/integrations/models/replies.hpp"

using namespace quell;
using namespace quell::integrations;
using quell::testing::read;

namespace {

std::string event(const std::string& data) {
  const auto from = data.find("\"type\":\"") + 8;
  return "event: " + data.substr(from, data.find('"', from) - from) + "\ndata: " + data + "\n\n";
}
std::string completed() {
  return event(
      R"({"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":400},"output_tokens":89}}})");
}
std::string incomplete(const std::string& why) {
  return event(R"({"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":")" +
               why + R"("},"usage":{"input_tokens":1,"output_tokens":2}}})");
}
std::string text(const std::string& piece) {
  return event(R"({"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":")" + piece +
               R"("})");
}
std::string golden() {
  return event(R"({"type":"response.created","response":{"id":"r","status":"in_progress"}})") +
         event(
             R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}})") +
         event(R"({"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0})") +
         event(
             R"({"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"First."})") +
         event(R"({"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1})") +
         event(
             R"({"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Then."})") +
         event(
             R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"First."}],"encrypted_content":"sealed==","status":"completed"}})") +
         text("Okay, ") + text("l\u00e4sst 😀") +
         event(
             R"({"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"exec","arguments":""}})") +
         event(R"({"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"cmd\": "})") +
         event(R"({"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"ls\"}"})") +
         event(R"({"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"cmd\": \"ls\"}"})") +
         event(
             R"({"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"call_1","name":"exec","arguments":"{\"cmd\": \"ls\"}"}})") +
         event(
             R"({"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","call_id":"call_2","name":"read","arguments":""}})") +
         event(R"({"type":"response.something.new"})") + completed();
}

} // namespace

TEST_CASE("Responses: text, reasoning, calls and usage come out, however the bytes are cut") {
  for (const std::size_t piece : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
    const auto got = read(responses_reader({}), golden(), piece);
    CHECK(got.text() == "Okay, lässt 😀");
    CHECK(got.calls() == std::vector<tool_call>{{"call_1", "exec", "{\"cmd\": \"ls\"}"}, {"call_2", "read", "{}"}});
    CHECK(got.calls_begun() == 2);
    CHECK(got.end().why == model_events::stop::calls);
    CHECK(got.end().usage == model_usage{1000, 89, 400});
    std::string thinking;
    std::vector<std::string> kept;
    for (const auto& one : got.events) {
      if (const auto* delta = std::get_if<model_events::thinking>(&one)) thinking += delta->delta;
      if (const auto* whole = std::get_if<model_events::thought>(&one)) kept.push_back(whole->what.block);
    }
    CHECK(thinking == "First.\n\nThen.");
    REQUIRE(kept.size() == 1);
    CHECK(
        kept[0] ==
        R"({"encrypted_content":"sealed==","id":"rs_1","summary":[{"text":"First.","type":"summary_text"}],"type":"reasoning"})");
  }
}

TEST_CASE("Responses: every reason to stop has a meaning") {
  using model_events::stop;
  CHECK(read(responses_reader({}), text("a") + completed()).end().why == stop::end);
  CHECK(read(responses_reader({}), text("a") + incomplete("max_output_tokens")).end().why == stop::length);
  CHECK(read(responses_reader({}), text("a") + incomplete("content_filter")).end().why == stop::content_filter);
  const auto refused = event(R"({"type":"response.refusal.delta","delta":"I will not."})");
  CHECK(read(responses_reader({}), refused + completed()).end().why == stop::refusal);
  CHECK(read(responses_reader({}), refused + completed()).text() == "I will not.");
}

TEST_CASE("Responses: the end of the stream is not an end of the answer, and errors have codes") {
  const auto stream = golden();
  CHECK(read(responses_reader({}), stream.substr(0, stream.find("event: response.completed"))).wrong->why.code ==
        "model_broken");
  const auto open = event(
      R"({"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"exec"}})");
  CHECK(read(responses_reader({}), open + completed()).wrong->why.code == "model_broken");
  CHECK(read(responses_reader({}), "data: [DONE]\n\n").wrong->why.code == "model_broken");
  const auto code_of = [](const std::string& one) { return read(responses_reader({}), one).wrong->why.code; };
  CHECK(code_of(event(R"({"type":"error","code":"rate_limit_exceeded","message":"slow down"})")) == "model_overloaded");
  CHECK(
      code_of(event(R"({"type":"response.failed","response":{"error":{"code":"server_error","message":"sorry"}}})")) ==
      "model_unavailable");
  CHECK(code_of(event(
            R"({"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"x"}}})")) ==
        "context_overflow");
  CHECK(code_of(event(
            R"({"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"pay"}}})")) ==
        "model_unpaid");
  CHECK(code_of("data: [1]\n\n") == "model_broken");
}

TEST_CASE("Responses: a message that comes as a whole is told once") {
  const auto whole = [](const std::string& words) {
    return event(R"({"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[)"
                 R"({"type":"output_text","text":")" +
                 words + R"("}]}})");
  };
  CHECK(read(responses_reader({}), whole("Hello") + whole(" there") + completed()).text() == "Hello there");
  CHECK(read(responses_reader({}), text("Hel") + text("lo") + whole("Hello") + completed()).text() == "Hello");
}
