// The stream of Anthropic's Messages API, valid and broken.
#include "tests/integrations/models/replies.hpp"

using namespace quell;
using namespace quell::integrations;
using quell::testing::read;

namespace {

std::string event(const std::string& data) {
  const auto from = data.find("\"type\":\"") + 8;
  return "event: " + data.substr(from, data.find('"', from) - from) + "\ndata: " + data + "\n\n";
}
std::string start() {
  return event(
      R"({"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}})");
}
std::string end(const std::string& reason) {
  return event(R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
               R"(","stop_sequence":null},"usage":{"output_tokens":89}})") +
         event(R"({"type":"message_stop"})");
}
std::string text_block() {
  return event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})") +
         event(R"({"type":"ping"})") +
         event(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Okay, "}})") +
         event(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"l\u00e4sst 😀\n"}})") +
         event(R"({"type":"content_block_stop","index":0})");
}
std::string golden() {
  return start() + text_block() +
         event(
             R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_01","name":"exec","input":{}}})") +
         event(R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}})") +
         event(
             R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"cmd\": \"ls"}})") +
         event(
             R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_02","name":"read","input":{}}})") +
         event(
             R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" -l\"}"}})") +
         event(R"({"type":"content_block_stop","index":1})") + event(R"({"type":"content_block_stop","index":2})") +
         event(R"({"type":"something_new","index":7})") + end("tool_use");
}

void check_golden(const quell::testing::reading& got) {
  CHECK(got.text() == "Okay, lässt 😀\n");
  CHECK(got.calls() ==
        std::vector<tool_call>{{"toolu_01", "exec", "{\"cmd\": \"ls -l\"}"}, {"toolu_02", "read", "{}"}});
  CHECK(got.calls_begun() == 2);
  CHECK(got.end().why == model_events::stop::calls);
  CHECK(got.end().usage == model_usage{1125, 89, 1000, 100});
}

} // namespace

TEST_CASE("Anthropic: text, interleaved calls and usage come out, however the bytes are cut") {
  const std::string stream = golden();
  check_golden(read(anthropic_reader({}), stream));
  check_golden(read(anthropic_reader({}), stream, 1));
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    INFO("cut at " << cut);
    check_golden(read(anthropic_reader({}), stream, 0, cut));
  }
}

TEST_CASE("Anthropic: every reason to stop has a meaning") {
  using model_events::stop;
  const std::pair<const char*, stop> reasons[] = {
      {"end_turn", stop::end},      {"stop_sequence", stop::end},
      {"pause_turn", stop::end},    {"max_tokens", stop::length},
      {"refusal", stop::refusal},   {"tool_use", stop::calls},
      {"of_the_future", stop::end}, {"model_context_window_exceeded", stop::length}};
  for (const auto& [name, meaning] : reasons) {
    INFO(name);
    CHECK(read(anthropic_reader({}), start() + text_block() + end(name)).end().why == meaning);
  }
}

TEST_CASE("Anthropic: the end of the stream is not an end of the answer") {
  const std::string stream = golden();
  const auto last = stream.find("event: message_stop");
  for (const std::size_t cut : {std::size_t{0}, std::size_t{40}, start().size(), last, stream.size() - 2}) {
    INFO("cut at " << cut);
    const auto got = read(anthropic_reader({}), stream.substr(0, cut));
    REQUIRE(got.wrong);
    CHECK(got.wrong->why.code == "model_broken");
  }
  CHECK(read(anthropic_reader({}), start() + event(R"({"type":"message_stop"})")).wrong->why.code == "model_broken");
  const std::string open =
      start() +
      event(
          R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"exec","input":{}}})");
  CHECK(read(anthropic_reader({}), open + end("tool_use")).wrong->why.code == "model_broken");
}

TEST_CASE("Anthropic: an error inside the stream ends it with what it said") {
  const auto got = read(
      anthropic_reader({}),
      start() + event(R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})") + text_block());
  REQUIRE(got.wrong);
  CHECK(got.wrong->why.code == "model_overloaded");
  CHECK(got.wrong->again);
  CHECK_THAT(got.wrong->why.detail, Catch::Contains("Overloaded"));
  CHECK(got.events.empty());
  const auto refused =
      read(anthropic_reader({}), event(R"({"type":"error","error":{"type":"invalid_request_error","message":"no"}})"));
  CHECK(refused.wrong->why.code == "model_refused");
  CHECK_FALSE(refused.wrong->again);
  CHECK(
      read(anthropic_reader({}), event(R"({"type":"error","error":{"type":"api_error","message":"x"}})")).wrong->again);
}

TEST_CASE("Anthropic: a call's input may come with its block, its id may be missing or known already") {
  const auto block = [](const std::string& index, const std::string& id) {
    return event(R"({"type":"content_block_start","index":)" + index + R"(,"content_block":{"type":"tool_use","id":")" +
                 id + R"(","name":"exec","input":{"a":1}}})") +
           event(R"({"type":"content_block_stop","index":)" + index + "}");
  };
  conversation history;
  history.emplace_back(assistant_message{"", {{"used", "exec", "{}"}}, false});
  const auto calls =
      read(anthropic_reader(call_ids(history)),
           start() + block("0", "") + block("1", "used") + block("2", "new") + block("3", "new") + end("tool_use"))
          .calls();
  REQUIRE(calls.size() == 4);
  std::set<std::string> ids{"used"};
  for (const auto& call : calls) {
    CHECK(ids.insert(call.call).second);
    CHECK(call.input == R"({"a":1})");
  }
  CHECK(ids.contains("new"));
}

TEST_CASE("Anthropic: the server's own tools are passed by") {
  const auto got = read(
      anthropic_reader({}),
      start() + event(R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}})") +
          event(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})") +
          event(R"({"type":"content_block_stop","index":0})") +
          event(
              R"({"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}})") +
          event(R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}})") +
          event(R"({"type":"content_block_stop","index":1})") + end("end_turn"));
  CHECK(got.events.size() == 3); // the thinking, its block, the end
  CHECK(got.calls_begun() == 0);
  CHECK(got.end().why == model_events::stop::end);
}

TEST_CASE("garbage is a fault of either reader and never more than that") {
  for (const auto make : {&anthropic_reader, &openai_reader}) {
    for (const std::string bad : {"not json", "[1,2]", "\"x\"", "{\"type\":", "{}{}"}) {
      INFO(bad);
      const auto got = read(make({}), "data: " + bad + "\n\n");
      REQUIRE(got.wrong);
      CHECK(got.wrong->why.code == "model_broken");
    }
    const auto deep = read(make({}), "data: {\"choices\":" + std::string(100'000, '[') + "\n\n");
    CHECK(deep.wrong->why.code == "model_broken");
    // A field of a wrong type counts as absent.
    const auto odd = read(
        make({}),
        R"(data: {"type":3,"index":-1,"delta":[],"message":"","usage":7,"choices":[{"delta":{"content":5,"tool_calls":[null,3,{"index":"x","function":[]}]}}]})"
        "\n\n");
    CHECK(odd.wrong->why.code == "model_broken");
    CHECK(odd.events.empty());
  }
}

TEST_CASE("Anthropic: thinking is told apart from the answer, and its signed block is kept as it came") {
  const auto block = [](int index, const std::string& start, const std::vector<std::string>& deltas) {
    std::string all = event(R"({"type":"content_block_start","index":)" + std::to_string(index) +
                            R"(,"content_block":)" + start + "}");
    for (const auto& delta : deltas)
      all += event(R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + delta + "}");
    return all + event(R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}");
  };
  const std::string stream =
      start() +
      block(0, R"({"type":"thinking","thinking":"","signature":""})",
            {R"({"type":"thinking_delta","thinking":"Let me "})", R"({"type":"thinking_delta","thinking":"see 😀"})",
             R"({"type":"signature_delta","signature":"ab"})", R"({"type":"signature_delta","signature":"c=="})"}) +
      block(1, R"({"type":"redacted_thinking","data":"hidden=="})", {}) +
      block(2, R"({"type":"text","text":""})", {R"({"type":"text_delta","text":"Yes."})"}) +
      event(R"({"type":"content_block_delta","index":9,"delta":{"type":"thinking_delta","thinking":"lost"}})") +
      end("end_turn");
  for (const std::size_t piece : {std::size_t{0}, std::size_t{1}}) {
    const auto got = read(anthropic_reader({}), stream, piece);
    CHECK(got.text() == "Yes.");
    std::string thinking;
    std::vector<std::string> kept;
    for (const auto& one : got.events) {
      if (const auto* delta = std::get_if<model_events::thinking>(&one)) thinking += delta->delta;
      if (const auto* whole = std::get_if<model_events::thought>(&one)) kept.push_back(whole->what.block);
    }
    CHECK(thinking == "Let me see 😀lost");
    REQUIRE(kept.size() == 2);
    CHECK(kept[0] == R"({"signature":"abc==","thinking":"Let me see 😀","type":"thinking"})");
    CHECK(kept[1] == R"({"data":"hidden==","type":"redacted_thinking"})");
    CHECK(got.end().why == model_events::stop::end);
  }
}
