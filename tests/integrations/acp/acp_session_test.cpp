// The pure session of an ACP client against written transcripts.
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "integrations/acp/acp_session.hpp"

using namespace quell;
using namespace quell::integrations;
using nlohmann::json;

namespace {

struct talk {
  acp_session session{"coder", "/work/here"};
  std::vector<json> wrote;
  std::vector<acp_effect> received;

  void look() {
    for (acp_effect& one : session.effects()) {
      if (const auto* send = std::get_if<acp_effects::send>(&one))
        wrote.push_back(json::parse(send->bytes));
      else
        received.push_back(std::move(one));
    }
  }
  void hear(const json& message) { session.receive(message.dump() + "\n"), look(); }
  void answer(const json& id, const json& result) { hear({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}}); }
  void refuse(const json& id) { hear({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", -1}, {"message", "no"}}}}); }
  void shake() {
    session.start(), look();
    answer(1, {{"protocolVersion", 1}, {"agentInfo", {{"name", "a"}, {"version", "2"}}}});
    answer(2, {{"sessionId", "s"}});
  }
  void prompt() { session.prompt("do it"), look(); }
  bool cancel() {
    const bool did = session.cancel();
    look();
    return did;
  }
  void update(const json& what) {
    hear({{"jsonrpc", "2.0"}, {"method", "session/update"}, {"params", {{"sessionId", "s"}, {"update", what}}}});
  }
  void say(const std::string& text) {
    update({{"sessionUpdate", "agent_message_chunk"}, {"content", {{"type", "text"}, {"text", text}}}});
  }
  void ask(const json& id) {
    hear({{"jsonrpc", "2.0"},
          {"id", id},
          {"method", "session/request_permission"},
          {"params",
           {{"sessionId", "s"},
            {"toolCall", {{"title", "rm -rf"}}},
            {"options", json::array({json{{"optionId", "y"}, {"name", "Yes"}, {"kind", "allow_once"}}})}}}});
  }
  template <class Effect>
  std::vector<Effect> all() const {
    std::vector<Effect> found;
    for (const auto& one : received)
      if (const auto* fits = std::get_if<Effect>(&one)) found.push_back(*fits);
    return found;
  }
};

json outcome(const json& what) { return {{"outcome", what}}; }
const json cancelled_outcome{{"outcome", "cancelled"}};

} // namespace

TEST_CASE("an agent is shaken hands with, given a prompt, and its text comes in pieces") {
  talk talk;
  talk.prompt(); // waits
  talk.shake();
  REQUIRE(talk.wrote.size() == 3);
  CHECK(talk.wrote[0]["params"]["protocolVersion"] == 1);
  CHECK(talk.wrote[1]["params"] == json{{"cwd", "/work/here"}, {"mcpServers", json::array()}});
  CHECK(talk.wrote[2]["method"] == "session/prompt");
  CHECK(talk.wrote[2]["params"]["prompt"][0]["text"] == "do it");
  talk.say("Hel");
  talk.update({{"sessionUpdate", "tool_call"}, {"title", "reads"}, {"status", "pending"}});
  talk.say("lo");
  talk.answer(3, {{"stopReason", "end_turn"}});
  CHECK(talk.all<acp_effects::text>().size() == 2);
  CHECK(talk.all<acp_effects::activity>().at(0).title == "reads");
  CHECK(talk.all<acp_effects::finished>().at(0).why == "end_turn");
  talk.prompt();
  CHECK(talk.wrote.back()["params"]["sessionId"] == "s");
  talk.prompt();
  CHECK_FALSE(talk.all<acp_effects::failed>().at(0).sent);
}

TEST_CASE("permissions are answered with what was chosen, and only with what was offered") {
  talk talk;
  talk.shake();
  talk.prompt();
  for (const json& id : {json(7), json("7")}) {
    talk.ask(id);
    const auto permission_request = talk.all<acp_effects::permission>().back();
    CHECK(permission_request.title == "rm -rf");
    CHECK(permission_request.options == std::vector<acp_option>{{"y", "Yes", "allow_once"}});
    const bool first = id == json(7);
    talk.session.permit(permission_request.number, first ? "y" : "something else");
    talk.session.permit(permission_request.number, "y");
    talk.look();
    CHECK(talk.wrote.back()["id"] == id);
    CHECK(talk.wrote.back()["result"] ==
          outcome(first ? json{{"outcome", "selected"}, {"optionId", "y"}} : cancelled_outcome));
  }
  talk.hear({{"jsonrpc", "2.0"}, {"id", 9}, {"method", "fs/read_text_file"}, {"params", json::object()}});
  CHECK(talk.wrote.back()["error"]["code"] == -32601);
}

TEST_CASE("a permission request that names its call by the id alone has the title that the call was given before") {
  talk talk;
  talk.shake();
  talk.prompt();
  const auto asks = [&](const json& call) {
    talk.hear({{"jsonrpc", "2.0"},
               {"id", 7},
               {"method", "session/request_permission"},
               {"params", {{"sessionId", "s"}, {"toolCall", call}, {"options", json::array()}}}});
    return talk.all<acp_effects::permission>().back().title;
  };
  talk.update({{"sessionUpdate", "tool_call"}, {"toolCallId", "t1"}, {"title", "delete everything"}});
  CHECK(asks({{"toolCallId", "t1"}}) == "delete everything");
  CHECK(asks({{"toolCallId", "t2"}}).empty());
  const auto hidden = std::string(300, 'a') + " && rm -rf /srv"; // behind what is shown of a title
  CHECK(asks({{"toolCallId", "t3"}, {"title", hidden}}) == hidden);
}

TEST_CASE("an agent that names calls without end loses their titles, and never keeps an old one") {
  talk talk;
  talk.shake();
  talk.prompt();
  const auto names = [&](const std::string& call, const std::string& title) {
    talk.update({{"sessionUpdate", "tool_call"}, {"toolCallId", call}, {"title", title}});
  };
  const auto title_of = [&](const std::string& call) {
    talk.hear({{"jsonrpc", "2.0"},
               {"id", call},
               {"method", "session/request_permission"},
               {"params", {{"sessionId", "s"}, {"toolCall", {{"toolCallId", call}}}, {"options", json::array()}}}});
    const auto found = talk.all<acp_effects::permission>().back();
    talk.session.permit(found.number, std::nullopt);
    return found.title;
  };
  const std::string long_id(2'000, 'i'), most(64 << 10, 'm');
  names(long_id, "create");
  CHECK(title_of(long_id).empty());
  names("t", "create");
  names("t", most + "x");
  CHECK(title_of("t").empty());
  names("first", "create");
  names("small", "create");
  for (int i = 0; i < 64; ++i) names("big" + std::to_string(i), most);
  CHECK(title_of("big0") == most);
  CHECK(title_of("big63").empty());
  names("first", most);
  CHECK(title_of("first").empty());
  for (int i = 0; i < 1'500; ++i) names("c" + std::to_string(i), "t");
  CHECK(title_of("c1") == "t");
  CHECK(title_of("c1499").empty());
  talk.answer(3, {{"stopReason", "end_turn"}});
  talk.prompt();
  CHECK(title_of("big0").empty()); // those of another prompt
  names("big0", most);
  CHECK(title_of("big0") == most);
}

TEST_CASE("a cancel tells the agent, answers what it asks, and nothing is told after it but what became of it") {
  for (const char* reason : {"cancelled", "end_turn"}) {
    talk talk;
    talk.shake();
    talk.prompt();
    talk.ask("q");
    const auto before = talk.received.size();
    CHECK(talk.cancel());
    CHECK_FALSE(talk.cancel());
    REQUIRE(talk.wrote.size() == 5);
    CHECK(talk.wrote[3] == json{{"jsonrpc", "2.0"}, {"method", "session/cancel"}, {"params", {{"sessionId", "s"}}}});
    CHECK(talk.wrote[4]["id"] == "q");
    CHECK(talk.wrote[4]["result"] == outcome(cancelled_outcome));
    talk.say("more");
    talk.ask("late");
    CHECK(talk.wrote.back()["id"] == "late");
    CHECK(talk.wrote.back()["result"] == outcome(cancelled_outcome));
    CHECK(talk.received.size() == before);
    talk.answer(3, {{"stopReason", reason}});
    CHECK(talk.all<acp_effects::late>().at(0).what == (std::string(reason) == "cancelled" ? "done" : "too_late"));
    CHECK(talk.received.size() == before + 1);
    talk.prompt();
    CHECK(talk.wrote.back()["method"] == "session/prompt");
  }
}

TEST_CASE("cancels before the prompt has left, without an answer, and the agent's end") {
  talk early;
  early.prompt();
  CHECK(early.cancel());
  CHECK(early.all<acp_effects::late>().at(0).what == "not_sent");
  early.shake();
  CHECK(early.wrote.size() == 2);
  CHECK_FALSE(early.cancel());

  talk silent;
  silent.shake();
  silent.prompt();
  silent.cancel();
  silent.session.stop_waiting();
  silent.prompt();
  CHECK(silent.all<acp_effects::late>().at(0).what == "ignored");
  CHECK_FALSE(silent.all<acp_effects::failed>().at(0).sent);

  talk gone;
  gone.shake();
  gone.prompt();
  gone.session.close("exited with status 1");
  gone.session.close("again");
  gone.look();
  REQUIRE(gone.all<acp_effects::failed>().size() == 1);
  CHECK(gone.all<acp_effects::failed>()[0].why.code == "agent_unreachable");
}

TEST_CASE("an agent that refuses, speaks another version or wants a login fails with its words") {
  for (const bool shaken : {false, true}) {
    talk talk;
    talk.prompt();
    talk.session.start(), talk.look();
    if (shaken) talk.answer(1, {{"protocolVersion", 1}});
    talk.refuse(shaken ? 2 : 1);
    CHECK(talk.all<acp_effects::failed>().at(0).why.code == "agent_refused");
  }
  talk talk;
  talk.prompt();
  talk.session.start(), talk.look();
  talk.answer(1, {{"protocolVersion", 9}});
  CHECK_FALSE(talk.all<acp_effects::failed>().at(0).sent);
}

TEST_CASE("each prompt ends exactly once, whatever comes in whatever order") {
  const bool holds = rc::check("one end for each prompt", [] {
    talk talk;
    int prompts = 0;
    std::string pending;
    const auto steps = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(0, 12));
    for (const std::uint8_t step : steps) {
      const json id = talk.wrote.empty() ? json(1) : talk.wrote.back().value("id", json(3));
      if (step < 2) talk.prompt(), ++prompts;
      if (step == 2) talk.shake();
      if (step == 3) talk.answer(id, {{"stopReason", "end_turn"}, {"protocolVersion", 1}, {"sessionId", "s"}});
      if (step == 4) talk.refuse(id);
      if (step == 5) talk.ask("x");
      if (step == 6 || step == 7) talk.cancel();
      if (step == 8) talk.say("t");
      if (step == 9) talk.session.stop_waiting(), talk.look();
      if (step == 10) talk.session.receive("garbage\n{}\n[]\n5\n"), talk.look();
      if (step == 11 && steps.size() % 5 == 0) talk.session.close("x"), talk.look();
    }
    talk.session.close("end");
    talk.look();
    const std::size_t ends = talk.all<acp_effects::finished>().size() + talk.all<acp_effects::failed>().size() +
                             talk.all<acp_effects::late>().size();
    RC_ASSERT(ends == static_cast<std::size_t>(prompts));
  });
  CHECK(holds);
}
