// The stream of Chat Completions, from OpenAI and from its many look-alikes.
#include "tests/integrations/models/replies.hpp"

#include "integrations/models/limits.hpp"

using namespace quell;
using namespace quell::integrations;
using quell::testing::read;

namespace {

std::string chunk(const std::string& delta, const std::string& reason = "null") {
  return R"(data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":)" + delta +
         R"(,"finish_reason":)" + reason + "}]}\n\n";
}
std::string calls(const std::string& list) { return chunk(R"({"tool_calls":[)" + list + "]}"); }
std::string end(const std::string& reason) { return chunk("{}", "\"" + reason + "\"") + "data: [DONE]\n\n"; }

std::string golden() {
  return ": keep-alive\n\n" + chunk(R"({"role":"assistant","content":""})") + chunk(R"({"reasoning_content":"hm"})") +
         chunk(R"({"content":"Okay, "})") + chunk(R"({"content":"l\u00e4sst 😀\n"})") +
         calls(R"({"index":0,"id":"call_a","type":"function","function":{"name":"exec","arguments":""}})") +
         calls(R"({"index":0,"function":{"arguments":"{\"cmd\": \"ls"}})") +
         calls(R"({"index":1,"id":"call_b","type":"function","function":{"name":"read","arguments":""}})") +
         calls(R"({"index":0,"function":{"arguments":" -l\"}"}})") + chunk("{}", "\"tool_calls\"") +
         "data: "
         "{\"choices\":[],\"usage\":{\"prompt_tokens\":1125,\"completion_tokens\":89,\"prompt_tokens_details\":{"
         "\"cached_tokens\":1000}}}\n\ndata: [DONE]\n\n";
}

void check_golden(const quell::testing::reading& got) {
  CHECK(got.text() == "Okay, lässt 😀\n");
  CHECK(got.calls() == std::vector<tool_call>{{"call_a", "exec", "{\"cmd\": \"ls -l\"}"}, {"call_b", "read", "{}"}});
  CHECK(got.calls_begun() == 2);
  CHECK(got.end().why == model_events::stop::calls);
  CHECK(got.end().usage == model_usage{1125, 89, 1000});
}

} // namespace

TEST_CASE("OpenAI: text, calls by index and usage come out, however the bytes are cut") {
  const std::string stream = golden();
  check_golden(read(openai_reader({}), stream));
  check_golden(read(openai_reader({}), stream, 1));
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    INFO("cut at " << cut);
    check_golden(read(openai_reader({}), stream, 0, cut));
  }
}

TEST_CASE("OpenAI: calls as look-alikes send them") {
  const auto read_calls = [](const std::string& stream) {
    const auto got = read(openai_reader({}), stream);
    CHECK(got.end().why == model_events::stop::calls);
    return got.calls();
  };
  SECTION("whole calls at once, all at index 0, the finish says stop") {
    const auto got = read_calls(
        calls(
            R"({"index":0,"id":"x1","function":{"name":"a","arguments":"{\"n\":1}"}},{"index":0,"id":"x2","function":{"name":"b","arguments":"{\"n\":2}"}})") +
        end("stop"));
    CHECK(got == std::vector<tool_call>{{"x1", "a", "{\"n\":1}"}, {"x2", "b", "{\"n\":2}"}});
  }
  SECTION("no ids, no index, arguments as an object") {
    const auto got =
        read_calls(calls(R"({"function":{"name":"a","arguments":{"n":1}}},{"function":{"name":"b","arguments":{}}})") +
                   end("tool_calls"));
    REQUIRE(got.size() == 2);
    CHECK(got[0].input == "{\"n\":1}");
    CHECK(got[1].input == "{}");
    CHECK(!got[0].call.empty());
    CHECK(got[0].call != got[1].call);
  }
  SECTION("id and name in every chunk") {
    const auto got =
        read_calls(calls(R"({"index":0,"id":"i","function":{"name":"a","arguments":"{\"n\""}})") +
                   calls(R"({"index":0,"id":"i","function":{"name":"a","arguments":":1}"}})") + end("tool_calls"));
    CHECK(got == std::vector<tool_call>{{"i", "a", "{\"n\":1}"}});
  }
  SECTION("name in every chunk and no id") {
    const auto got = read_calls(calls(R"({"index":0,"function":{"name":"a","arguments":"{\"n\""}})") +
                                calls(R"({"index":0,"function":{"name":"a","arguments":":1}"}})") + end("tool_calls"));
    REQUIRE(got.size() == 1);
    CHECK(got[0].input == "{\"n\":1}");
  }
  SECTION("the same id twice") {
    const auto got = read_calls(
        calls(
            R"({"index":0,"id":"i","function":{"name":"a","arguments":"{}"}},{"index":1,"id":"i","function":{"name":"a","arguments":"{}"}})") +
        end("tool_calls"));
    REQUIRE(got.size() == 2);
    CHECK(got[0].call == "i");
    CHECK(got[1].call != "i");
  }
  SECTION("arguments missing, null or empty are an empty object") {
    const auto got = read_calls(
        calls(
            R"({"index":0,"id":"a","function":{"name":"a"}},{"index":1,"id":"b","function":{"name":"b","arguments":null}},{"index":2,"id":"c","function":{"name":"c","arguments":""}})") +
        end("tool_calls"));
    REQUIRE(got.size() == 3);
    for (const auto& call : got) CHECK(call.input == "{}");
  }
  SECTION("an id of 1,000 bytes is replaced, a name of 1,000 is cut") {
    const std::string longer(1000, 'x');
    const auto got = read_calls(
        calls(R"({"index":0,"id":")" + longer + R"(","function":{"name":")" + longer + R"(","arguments":"{}"}})") +
        end("tool_calls"));
    REQUIRE(got.size() == 1);
    CHECK(got[0].call.size() <= limits::call_id_bytes);
    CHECK(got[0].name.size() <= limits::name_bytes);
  }
}

TEST_CASE("OpenAI: every reason to stop has a meaning") {
  using model_events::stop;
  const std::pair<const char*, stop> reasons[] = {{"stop", stop::end},
                                                  {"length", stop::length},
                                                  {"content_filter", stop::content_filter},
                                                  {"of_the_future", stop::end}};
  for (const auto& [name, meaning] : reasons)
    CHECK(read(openai_reader({}), chunk(R"({"content":"x"})") + end(name)).end().why == meaning);
  const auto refused = read(openai_reader({}), chunk(R"({"refusal":"I will not."})") + end("stop"));
  CHECK(refused.end().why == stop::refusal);
  CHECK(refused.text() == "I will not.");
}

TEST_CASE("OpenAI: without a finish_reason nothing is finished, with it [DONE] may be missing") {
  for (const std::string tail : {"", "data: [DONE]\n\n"}) {
    const auto got = read(openai_reader({}), chunk(R"({"content":"half"})") + tail);
    REQUIRE(got.wrong);
    CHECK(got.wrong->why.code == "model_broken");
    CHECK(got.text() == "half");
  }
  CHECK(read(openai_reader({}), chunk(R"({"content":"x"})", "\"stop\"")).end().why == model_events::stop::end);
}

TEST_CASE("OpenAI: an error inside the stream ends it with what it said") {
  const auto got =
      read(openai_reader({}), R"(data: {"error":{"message":"engine is down","type":"server_error","code":503}})"
                              "\n\n");
  REQUIRE(got.wrong);
  CHECK(got.wrong->why.code == "model_overloaded");
  CHECK(got.wrong->again);
  CHECK_THAT(got.wrong->why.detail, Catch::Contains("engine is down"));
}

TEST_CASE("bad UTF-8 and halves of surrogate pairs come out as whole characters") {
  const auto got = read(openai_reader({}), chunk("{\"content\":\"a\xFF"
                                                 "b\"}") +
                                               chunk(R"({"content":"\ud83d"})") +
                                               chunk(R"({"content":"\ud83d\ude00"})") + end("stop"));
  CHECK(got.text() == "a\xEF\xBF\xBD"
                      "b\xEF\xBF\xBD😀");
}

TEST_CASE("an answer that never ends runs into its limits") {
  const std::string long_text(1'000'000, 'x');
  std::string stream;
  for (int i = 0; i < 12; ++i) stream += chunk("{\"content\":\"" + long_text + "\"}");
  CHECK(read(openai_reader({}), stream).wrong->why.code == "model_broken");
  stream.clear();
  for (int i = 0; i < 12; ++i)
    stream += calls("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"a\",\"arguments\":\"" + long_text + "\"}}");
  CHECK(read(openai_reader({}), stream).wrong->why.code == "model_broken");
  stream.clear();
  for (int i = 0; i < 200; ++i)
    stream += calls("{\"index\":" + std::to_string(i) + ",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}");
  CHECK(read(openai_reader({}), stream).wrong->why.code == "model_broken");
}

TEST_CASE("OpenAI: compatible servers' thinking is told apart from the answer, under either name") {
  for (const char* name : {"reasoning_content", "reasoning"}) {
    const std::string stream = R"(data: {"choices":[{"delta":{")" + std::string(name) +
                               R"(":"Hm, "}}]})"
                               "\n\n"
                               R"(data: {"choices":[{"delta":{")" +
                               name +
                               R"(":"yes."}}]})"
                               "\n\n"
                               R"(data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]})"
                               "\n\ndata: [DONE]\n\n";
    const auto got = read(openai_reader({}), stream);
    CHECK(got.text() == "Yes.");
    std::string thinking;
    for (const auto& one : got.events)
      if (const auto* delta = std::get_if<model_events::thinking>(&one)) thinking += delta->delta;
    CHECK(thinking == "Hm, yes.");
  }
}

TEST_CASE("OpenAI: a content that is a list of parts is read, in pieces and as a whole answer") {
  const std::string pieces = chunk(R"({"content":[{"type":"text","text":"Hel"},{"type":"image"}]})") +
                             chunk(R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]})") +
                             chunk(R"({"content":["lo",{"type":"output_text","text":" there"},7,null]})") + end("stop");
  const auto got = read(openai_reader({}), pieces);
  CHECK(got.text() == "Hello there");
  CHECK(got.end().why == model_events::stop::end);
  std::string thinking;
  for (const auto& one : got.events)
    if (const auto* delta = std::get_if<model_events::thinking>(&one)) thinking += delta->delta;
  CHECK(thinking == "Hm.");

  const std::string whole = R"(data: {"choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text",)"
                            R"("text":"Hello"},{"type":"text","text":" there"}]},"finish_reason":"stop"}]})"
                            "\n\ndata: [DONE]\n\n";
  CHECK(read(openai_reader({}), whole).text() == "Hello there");

  const auto refused =
      read(openai_reader({}), chunk(R"({"content":[{"type":"refusal","refusal":"No."}]})") + end("stop"));
  CHECK(refused.text() == "No.");
  CHECK(refused.end().why == model_events::stop::refusal);
}
