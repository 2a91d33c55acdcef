// The pure session of an MCP client against written transcripts: handshake, calls, cancels.
#include "tests/integrations/mcp/mcp_talk.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;
using finished = mcp_call_events::finished;
using failed = mcp_call_events::failed;
using progress = mcp_call_events::progress;

TEST_CASE("the handshake offers the newest version that has one, and says who is there") {
  mcp_talk talk;
  REQUIRE(talk.wrote.size() == 1);
  CHECK(talk.wrote[0]["method"] == "initialize");
  CHECK(talk.wrote[0]["params"]["protocolVersion"] == "2025-11-25");
  CHECK(talk.wrote[0]["params"]["capabilities"] == json{{"elicitation", {{"form", json::object()}}}});
  talk.shake();
  REQUIRE(talk.wrote.size() == 2);
  CHECK(talk.wrote[1] == json{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  REQUIRE(talk.all<mcp_effects::ready>().size() == 1);
  CHECK(talk.all<mcp_effects::ready>()[0].name == "every");
  CHECK(talk.all<mcp_effects::ready>()[0].protocol == "2025-11-25");
}

TEST_CASE("older versions are accepted, unknown ones end the session with words that name both") {
  for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    mcp_talk talk;
    talk.shake(version);
    CHECK(talk.all<mcp_effects::ready>().at(0).protocol == version);
  }
  mcp_talk talk;
  const auto call = talk.call();
  talk.shake("1999-01-01");
  const auto ends = talk.events<failed>(call);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].why.code == "mcp_refused");
  CHECK_FALSE(ends[0].sent);
  CHECK_THAT(ends[0].why.detail, Catch::Contains("1999-01-01") && Catch::Contains("2024-11-05"));
}

TEST_CASE("a server without handshake is asked what it speaks, and each request says the version") {
  mcp_talk talk;
  const auto call = talk.call();
  talk.refuse(1, -32601, "Method not found");
  REQUIRE(talk.wrote.back()["method"] == "server/discover");
  talk.answer(talk.wrote.back()["id"],
              {{"resultType", "complete"},
               {"supportedVersions", {"2026-07-28"}},
               {"_meta", {{"io.modelcontextprotocol/serverInfo", {{"name", "new"}, {"version", "2"}}}}}});
  CHECK(talk.all<mcp_effects::ready>().at(0).name == "new");
  CHECK(talk.wrote_of("notifications/initialized").empty());
  const json call_message = talk.wrote_of("tools/call").at(0);
  CHECK(call_message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28");
  CHECK(call_message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"].is_object());
  talk.answer(call, {{"resultType", "input_required"}, {"inputRequests", json::object()}});
  CHECK(talk.events<failed>(call).at(0).why.code == "mcp_refused");
  const auto other = talk.call();
  CHECK(talk.cancel(other)); // on stdio in every version
  CHECK(talk.wrote.back()["method"] == "notifications/cancelled");
}

TEST_CASE("a server that refuses both handshakes ends the session with its own words") {
  mcp_talk talk;
  talk.list();
  talk.refuse(1, -32000, "no licence");
  talk.refuse(talk.wrote.back()["id"], -32601, "what?");
  const auto lists = talk.all<mcp_effects::list>();
  REQUIRE(lists.size() == 1);
  CHECK(lists[0].tools.error().code == "mcp_refused");
  CHECK_THAT(lists[0].tools.error().detail, Catch::Contains("no licence"));
  CHECK(talk.events<failed>(talk.call()).size() == 1);
}

TEST_CASE("what is asked before the handshake is over waits for it, in order") {
  mcp_talk talk(false);
  const auto first = talk.call("a", R"({"n": 1})"), second = talk.call("b");
  talk.list();
  CHECK(talk.wrote.empty());
  talk.session.start();
  talk.look();
  CHECK(talk.wrote.size() == 1);
  talk.shake();
  const auto calls = talk.wrote_of("tools/call");
  REQUIRE(calls.size() == 2);
  CHECK(calls[0]["id"] == first);
  CHECK(calls[0]["params"]["arguments"] == json{{"n", 1}});
  CHECK(calls[0]["params"]["_meta"]["progressToken"] == first);
  CHECK(calls[1]["id"] == second);
  CHECK(talk.wrote_of("tools/list").size() == 1);
}

TEST_CASE("a call tells its progress and then its result") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  talk.progress(call, 1);
  talk.progress(std::to_string(call), 2); // another type: not our token
  talk.progress(call + 7, 3);
  talk.answer(call, {{"content", json::array({json{{"type", "text"}, {"text", "hi"}}})},
                     {"structuredContent", {{"a", 1}}},
                     {"isError", true},
                     {"_meta", {{"private", 1}}}});
  talk.progress(call, 4);
  const auto steps = talk.events<progress>(call);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].progress == 1);
  CHECK(steps[0].total == 4);
  CHECK(steps[0].message == "step");
  const auto ends = talk.events<finished>(call);
  REQUIRE(ends.size() == 1);
  CHECK_FALSE(ends[0].ok);
  CHECK_FALSE(ends[0].truncated);
  CHECK(json::parse(ends[0].result) ==
        json::parse(R"({"content":[{"type":"text","text":"hi"}],"structuredContent":{"a":1},"isError":true})"));
}

TEST_CASE("an error whose text says cancelled is a failure, not a cancel") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call("x");
  talk.refuse(call, -32800, "Request cancelled");
  const auto ends = talk.events<failed>(call);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].sent);
  CHECK(ends[0].why.code == "mcp_refused");
  CHECK_THAT(ends[0].why.detail, Catch::Contains("\"files\"") && Catch::Contains("\"x\"") &&
                                     Catch::Contains("-32800") && Catch::Contains("Request cancelled"));
}

TEST_CASE("a cancel is sent once, with the id as a number, and what comes after it is told as late only") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  CHECK(talk.cancel(call, "the user said stop"));
  CHECK_FALSE(talk.cancel(call));
  const auto sent = talk.wrote_of("notifications/cancelled");
  REQUIRE(sent.size() == 1);
  CHECK(sent[0]["params"]["requestId"].is_number_unsigned());
  CHECK(sent[0]["params"] == json{{"requestId", call}, {"reason", "the user said stop"}});
  talk.progress(call, 2);
  CHECK(talk.late_results(call).empty());
  talk.answer(call, text_result("did it all the same"));
  CHECK(talk.late_results(call) == std::vector<std::string>{"too_late"});
  talk.answer(call, text_result("again"));
  CHECK(talk.late_results(call).size() == 1);
  CHECK(talk.all<mcp_effects::tell>().empty());
}

TEST_CASE("what became of a cancel: not sent, done, ignored by the caller's bound, ignored at the end") {
  mcp_talk talk;
  const auto early = talk.call();
  CHECK(talk.cancel(early));
  CHECK(talk.late_results(early) == std::vector<std::string>{"not_sent"});
  talk.shake();
  CHECK(talk.wrote_of("tools/call").empty());
  CHECK(talk.wrote_of("notifications/cancelled").empty());

  const auto done = talk.call(), bound = talk.call(), end = talk.call(), open = talk.call();
  for (const auto one : {done, bound, end}) CHECK(talk.cancel(one));
  talk.refuse(done, -32800, "cancelled");
  CHECK(talk.late_results(done) == std::vector<std::string>{"done"});
  talk.session.stop_waiting(bound);
  talk.session.stop_waiting(bound);
  talk.session.stop_waiting(open); // not cancelled: no effect
  talk.look();
  CHECK(talk.late_results(bound) == std::vector<std::string>{"ignored"});
  talk.close();
  CHECK(talk.late_results(end) == std::vector<std::string>{"ignored"});
  CHECK(talk.events<failed>(open).at(0).why.code == "mcp_unreachable");
  CHECK_THAT(talk.events<failed>(open).at(0).why.detail, Catch::Contains("exited with status 1"));
  talk.close();
  CHECK(talk.all<mcp_effects::tell>().size() == 1);
  const auto after = talk.call();
  CHECK_FALSE(talk.events<failed>(after).at(0).sent);
  CHECK_FALSE(talk.cancel(after));
}

TEST_CASE("cancels that nobody ever answers are not remembered for ever") {
  mcp_talk talk;
  talk.shake();
  const auto first = talk.call();
  talk.cancel(first);
  for (int i = 0; i < 10'000; ++i) {
    const auto number = talk.session.begin_call("echo", "");
    talk.session.cancel(number, "");
  }
  talk.look();
  CHECK(talk.all<mcp_effects::late>().size() == 1);
  CHECK(talk.late_results(first) == std::vector<std::string>{"ignored"});
}

TEST_CASE("input that is not a JSON object never leaves") {
  mcp_talk talk;
  talk.shake();
  const auto before = talk.wrote.size();
  for (const char* input : {"[1]", "{", "\"text\"", "nonsense"}) {
    const auto ends = talk.events<failed>(talk.call("echo", input));
    REQUIRE(ends.size() == 1);
    CHECK(ends[0].why.code == "mcp_refused");
    CHECK_FALSE(ends[0].sent);
  }
  CHECK(talk.wrote.size() == before);
  talk.call("echo", "{\n \"a\":\n \"b\\nc\" }"); // the message stays on one line
  CHECK(talk.wrote.back()["params"]["arguments"] == json{{"a", "b\nc"}});
}

TEST_CASE("a server's own requests: ping is answered, the rest is refused, ids go back as they came") {
  mcp_talk talk;
  talk.shake();
  for (const json& id : {json("5"), json(5), json("x-1"), json(-3)}) {
    talk.hear(json{{"jsonrpc", "2.0"}, {"id", id}, {"method", "ping"}});
    CHECK(talk.wrote.back() == json{{"jsonrpc", "2.0"}, {"id", id}, {"result", json::object()}});
    for (const char* method : {"sampling/createMessage", "roots/list", "no/such"}) {
      talk.hear(json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", json::object()}});
      CHECK(talk.wrote.back()["id"] == id);
      CHECK(talk.wrote.back()["error"]["code"] == -32601);
    }
  }
}

TEST_CASE("what is not a message is complained about and kills nothing") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  for (const char* bytes :
       {"Server listening on stdio\n", "{\n", "[]\n", "[1,[2]]\n", "\"text\"\n", "{\"jsonrpc\":\"2.0\"}\n",
        "\xFF\xFE\n", "{\"method\":5}\n", "{\"id\":{},\"method\":\"ping\"}\n", "{\"id\":1e400,\"result\":{}}\n",
        "\n\r\n  \n", "{\"id\":[],\"result\":{}}\n", "{\"id\":\"1\",\"result\":{}}\n", "{\"id\":99,\"result\":{}}\n",
        "{\"id\":-1,\"error\":5}\n", "{\"method\":\"notifications/progress\",\"params\":[]}\n",
        "{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n"})
    talk.hear(std::string(bytes));
  talk.hear(std::string(100'000, '[') + "\n");
  CHECK(talk.all<mcp_effects::bad_message>().size() >= 10);
  CHECK(talk.all<mcp_effects::tell>().empty());
  talk.hear("{\"jsonrpc\":\"2.0\",\"id\":" + std::to_string(call) +
            ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xFFz\"}]}}\r\n");
  REQUIRE(talk.events<finished>(call).size() == 1);
  CHECK(json::parse(talk.events<finished>(call)[0].result)["content"][0]["text"] == "a\xEF\xBF\xBDz");
  for (int i = 0; i < 500; ++i) talk.hear(std::string("noise\n"));
  CHECK(talk.all<mcp_effects::bad_message>().size() >= 500); // the writer of the log counts and limits them
}

TEST_CASE("a batch of the version that has them is taken apart") {
  mcp_talk talk;
  talk.shake("2025-03-26");
  const auto one = talk.call(), two = talk.call();
  talk.hear(json::array({json{{"jsonrpc", "2.0"}, {"id", two}, {"result", text_result("2")}},
                         json{{"jsonrpc", "2.0"}, {"id", one}, {"result", text_result("1")}}}));
  CHECK(talk.events<finished>(one).size() == 1);
  CHECK(talk.events<finished>(two).size() == 1);
}

TEST_CASE("a result above the limit is told as its beginning and a word about the rest") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  std::string umlauts;
  for (int i = 0; i < 800'000; ++i) umlauts += "ü";
  talk.answer(call, text_result("x" + umlauts));
  const auto end = talk.events<finished>(call).at(0);
  CHECK(end.truncated);
  CHECK(end.result.size() < 300'000);
  const std::string text = json::parse(end.result)["content"][0]["text"];
  CHECK_THAT(text, Catch::StartsWith("xüüü") && Catch::Contains("bytes of JSON") &&
                       Catch::EndsWith("ask the tool for less.]"));
}

TEST_CASE("a message above the limit is skipped, and the call that it answers is told so") {
  const std::string big(5'000'000, 'y');
  for (const bool id_first : {true, false})
    for (const bool cancelled : {true, false}) {
      mcp_talk talk;
      talk.shake();
      const auto call = talk.call(), other = talk.call();
      if (cancelled) talk.cancel(call);
      const std::string id = "\"id\":" + std::to_string(call);
      const std::string result =
          R"("result":{"content":[{"type":"text","text":"\"id\":)" + std::to_string(other) + "," + big + "\"}]}";
      const std::string whole = id_first ? "{\"jsonrpc\":\"2.0\"," + id + "," + result + "}\n"
                                         : "{" + result + ",\"jsonrpc\":\"2.0\"," + id + "}\n";
      for (std::size_t at = 0; at < whole.size(); at += 65536) talk.hear(whole.substr(at, 65536));
      if (cancelled) {
        CHECK(talk.late_results(call) == std::vector<std::string>{"too_late"});
      } else {
        REQUIRE(talk.events<failed>(call).size() == 1);
        CHECK(talk.events<failed>(call)[0].why.code == "mcp_broken");
        CHECK_THAT(talk.events<failed>(call)[0].why.detail, Catch::Contains("4 MiB"));
      }
      talk.answer(other, text_result("fine"));
      CHECK(talk.events<finished>(other).size() == 1);
    }
}
