// Questions of an MCP server to a human in the middle of a call, over a pair of byte streams: in versions with a
// handshake a separate request, in the newest one a result that the repeated call answers.
#include "integrations/mcp/limits.hpp"
#include "tests/integrations/mcp/mcp_talk.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;
using finished = mcp_call_events::finished;
using failed = mcp_call_events::failed;
using question = mcp_call_events::question;
using withdrawn = mcp_call_events::withdrawn;
using action = mcp_answer::action;

namespace {

const json sure{{"type", "object"}, {"properties", {{"sure", {{"type", "boolean"}}}}}};

void asks(mcp_talk& talk, const json& id, json more = json::object()) {
  json params{{"message", "Really?"}, {"requestedSchema", sure}};
  params.update(more);
  talk.hear(json{{"jsonrpc", "2.0"}, {"id", id}, {"method", "elicitation/create"}, {"params", params}});
}
void answers(mcp_talk& talk, mcp_call_number call, std::uint64_t number, action what, const std::string& values = {}) {
  talk.session.answer(call, number, {what, values});
  talk.look();
}
json last(const mcp_talk& talk) { return talk.wrote.back(); }

/// Shakes hands in the newest version.
void shake_newest(mcp_talk& talk) {
  talk.refuse(1, -32601, "Method not found");
  talk.answer(talk.wrote.back()["id"], {{"supportedVersions", {"2026-07-28"}}});
}
json required(const json& requests, const json& state = nullptr) {
  json result{{"resultType", "input_required"}};
  if (!requests.is_null()) result["inputRequests"] = requests;
  if (!state.is_null()) result["requestState"] = state;
  return result;
}
const json one_request{{"method", "elicitation/create"},
                       {"params", {{"message", "Really?"}, {"requestedSchema", sure}}}};

} // namespace

TEST_CASE("a question is told with its form, and its answer goes back under its id, once") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  asks(talk, "q-1");
  const auto received = talk.events<question>(call);
  REQUIRE(received.size() == 1);
  CHECK(received[0].message == "Really?");
  CHECK(json::parse(received[0].form) == sure);
  answers(talk, call, received[0].number, action::accept, R"({"sure":true})");
  CHECK(last(talk) ==
        json{{"jsonrpc", "2.0"}, {"id", "q-1"}, {"result", {{"action", "accept"}, {"content", {{"sure", true}}}}}});
  const auto wrote = talk.wrote.size();
  answers(talk, call, received[0].number, action::decline);
  answers(talk, call, 99, action::decline);
  CHECK(talk.wrote.size() == wrote);
  asks(talk, 7);
  asks(talk, 8);
  answers(talk, call, 3, action::cancel);
  CHECK(last(talk) == json{{"jsonrpc", "2.0"}, {"id", 8}, {"result", {{"action", "cancel"}}}});
  answers(talk, call, 2, action::decline);
  CHECK(last(talk) == json{{"jsonrpc", "2.0"}, {"id", 7}, {"result", {{"action", "decline"}}}});
  talk.answer(call, text_result("done"));
  CHECK(talk.events<finished>(call).size() == 1);
}

TEST_CASE("a stop answers nothing but the cancel, and neither does an answer that comes after it") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  asks(talk, "q-1");
  const auto wrote = talk.wrote.size();
  CHECK(talk.cancel(call));
  answers(talk, call, 1, action::accept, "{}");
  REQUIRE(talk.wrote.size() == wrote + 1);
  CHECK(last(talk)["method"] == "notifications/cancelled");
  asks(talk, "q-2"); // the server continues nevertheless
  CHECK(last(talk)["error"]["code"] == -32600);
  CHECK(talk.events<question>(call).size() == 1);
}

TEST_CASE("what is not clear to be one call's question is asked of nobody") {
  mcp_talk talk;
  talk.shake();
  asks(talk, "none");
  CHECK(last(talk)["error"]["code"] == -32600);
  const auto first = talk.call();
  const auto second = talk.session.begin_call("echo", "{}", "the-second");
  talk.look();
  asks(talk, "either");
  CHECK_THAT(last(talk)["error"]["message"].get<std::string>(), Catch::Contains("which call asks"));
  asks(talk, "by token", {{"_meta", {{"progressToken", first}}}});
  CHECK(talk.events<question>(first).size() == 1);
  asks(talk, "by operation", {{"_meta", {{"quell/operation", "the-second"}}}});
  CHECK(talk.events<question>(second).size() == 1);
  CHECK(talk.cancel(first));
  asks(talk, "perhaps of the cancelled one");
  CHECK(last(talk)["error"]["code"] == -32600);
  CHECK(talk.events<question>(second).size() == 1);
}

TEST_CASE("what no human can be asked is refused with the reason") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  for (const json& more : {json{{"mode", "url"}, {"url", "https://example.org"}}, json{{"message", ""}},
                           json{{"requestedSchema", {{"type", "string"}}}},
                           json{{"message", std::string(mcp_limits::question_bytes + 1, 'x')}}}) {
    asks(talk, "odd", more);
    CHECK(last(talk)["error"]["code"] == -32602);
  }
  CHECK(talk.events<question>(call).empty());
  for (std::size_t i = 0; i < mcp_limits::open_questions + 2; ++i) asks(talk, i + 100);
  CHECK(talk.events<question>(call).size() == mcp_limits::open_questions);
  CHECK(last(talk)["error"]["code"] == -32603);
  for (std::size_t i = 1; i <= mcp_limits::questions + 2; ++i) {
    answers(talk, call, i, action::decline);
    asks(talk, i + 200);
  }
  CHECK(talk.events<question>(call).size() == mcp_limits::questions);
}

TEST_CASE("a server takes its question back") {
  mcp_talk talk;
  talk.shake();
  const auto call = talk.call();
  asks(talk, "q-1");
  talk.hear(json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", "q-1"}}}});
  const auto back = talk.events<withdrawn>(call);
  REQUIRE(back.size() == 1);
  CHECK(back[0].number == 1);
  const auto wrote = talk.wrote.size();
  answers(talk, call, 1, action::accept, "{}");
  CHECK(talk.wrote.size() == wrote);
}

TEST_CASE(
    "a result that requires input is answered by the same call again, with the answers and the state as it came") {
  mcp_talk talk;
  shake_newest(talk);
  const auto call = talk.call("deploy", R"({"n":1})");
  talk.answer(call, required({{"a", one_request}, {"b", one_request}}, "st{ate \\u00e4"));
  REQUIRE(talk.events<question>(call).size() == 2);
  answers(talk, call, 1, action::accept, R"({"sure":true})");
  CHECK(talk.wrote_of("tools/call").size() == 1);
  answers(talk, call, 2, action::decline);
  REQUIRE(talk.wrote_of("tools/call").size() == 2);
  const json again = talk.wrote_of("tools/call")[1];
  CHECK(again["id"] != talk.wrote_of("tools/call")[0]["id"]);
  CHECK(again["params"]["name"] == "deploy");
  CHECK(again["params"]["arguments"] == json{{"n", 1}});
  CHECK(again["params"]["requestState"] == "st{ate \\u00e4");
  CHECK(again["params"]["inputResponses"] ==
        json{{"a", {{"action", "accept"}, {"content", {{"sure", true}}}}}, {"b", {{"action", "decline"}}}});
  talk.progress(again["id"], 1);
  CHECK(talk.events<mcp_call_events::progress>(call).size() == 1);
  talk.answer(again["id"], required(nullptr, "only state"));
  const json third = talk.wrote_of("tools/call").at(2);
  CHECK(third["params"]["requestState"] == "only state");
  CHECK_FALSE(third["params"].contains("inputResponses"));
  talk.answer(third["id"], text_result("done"));
  CHECK(talk.events<finished>(call).size() == 1);
}

TEST_CASE("a stop while input is required sends nothing: the call has ended there") {
  mcp_talk talk;
  shake_newest(talk);
  const auto call = talk.call();
  talk.answer(call, required({{"a", one_request}}, "s"));
  const auto wrote = talk.wrote.size();
  CHECK(talk.cancel(call));
  CHECK(talk.late_results(call) == std::vector<std::string>{"done"});
  answers(talk, call, 1, action::accept, "{}");
  CHECK(talk.wrote.size() == wrote);
  // Once repeated, it is stopped like any other call, under the id of its last request.
  const auto other = talk.call();
  talk.answer(other, required({{"a", one_request}}));
  answers(talk, other, 1, action::decline);
  const json again = talk.wrote_of("tools/call").back();
  CHECK_FALSE(again["params"].contains("requestState"));
  CHECK(talk.cancel(other));
  CHECK(last(talk)["params"]["requestId"] == again["id"]);
  talk.answer(again["id"], text_result("done"));
  CHECK(talk.late_results(other) == std::vector<std::string>{"too_late"});
}

TEST_CASE("a call that requires what nobody can give, or for ever, ends with the reason") {
  for (const json& result :
       {required(nullptr), required(json::array()), required({{"a", {{"method", "sampling/createMessage"}}}}),
        required({{"a", one_request}}, 5), required({{std::string(200, 'k'), one_request}})}) {
    mcp_talk talk;
    shake_newest(talk);
    const auto call = talk.call();
    talk.answer(call, result);
    REQUIRE(talk.events<failed>(call).size() == 1);
    CHECK(talk.events<failed>(call)[0].why.code == "mcp_refused");
    CHECK(talk.events<failed>(call)[0].sent);
    CHECK(talk.events<question>(call).empty());
  }
  mcp_talk talk;
  shake_newest(talk);
  const auto call = talk.call();
  for (int i = 0; i < 100 && talk.events<failed>(call).empty(); ++i)
    talk.answer(talk.wrote_of("tools/call").back()["id"], required(nullptr, "again"));
  CHECK_THAT(talk.events<failed>(call).at(0).why.detail, Catch::Contains("for ever"));
  CHECK(talk.wrote_of("tools/call").size() == mcp_limits::rounds + 1);
}
