// A stop at every point between two answers of an agent's port: the stored conversation must be whole in every order of
// events.
#include <catch2/catch.hpp>

#include "tests/actors/agent/agent_stage.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::testing;

namespace {

const std::vector<std::vector<std::string>> answers{
    {}, {"slow"}, {"slow", "fast"}, {"exec", "exec", "slow"}, {"danger"}, {"danger", "exec", "nothing", "danger"}};

/// Steps `count` times; false if the agent ended before.
bool goes(stage& s, int count) {
  for (int i = 0; i < count; ++i)
    if (!s.step()) return false;
  return true;
}

} // namespace

TEST_CASE("an agent that nobody stops completes, and everything of it is stored") {
  for (const auto& tools : answers) {
    stage s(tools);
    s.play();
    s.is_whole();
    REQUIRE(s.ends().size() == 1);
    CHECK_FALSE(s.ends()[0].aborted);
    CHECK(s.stored() == tools.size());
    CHECK(s.model_calls() == (tools.empty() ? 1 : 2));
  }
}

TEST_CASE("a stop at every point between two answers leaves everything whole") {
  for (const auto& tools : answers)
    for (const bool stubborn : {false, true})
      for (int at = 0; at < 200; ++at) {
        stage s(tools);
        s.stubborn = stubborn;
        if (!goes(s, at)) break;
        const auto approvals_requested = s.model_calls();
        const bool was_over = !s.ends().empty();
        CAPTURE(at, tools.size(), stubborn);
        s.stop();
        s.play();
        s.is_whole();
        CHECK(s.model_calls() == approvals_requested);
        if (!was_over && s.ends().size() == 1 && s.ends()[0].aborted) CHECK(s.ends()[0].aborted == abort_reason::user);
        const auto stands = s.results();
        s.late_ends(); // their results are too late to have an effect
        CHECK(s.results() == stands);
        CHECK(s.ends().size() == 1);
      }
}

TEST_CASE("a stop twice is a stop once") {
  for (int at = 0; at < 60; ++at) {
    stage s({"slow", "exec"});
    if (!goes(s, at)) break;
    s.stop();
    s.stop();
    s.step();
    s.stop();
    s.play();
    s.is_whole();
  }
}

TEST_CASE("a call that is stopped alone, at every point, is cancelled and the turn goes on") {
  for (const auto& tools : answers)
    for (std::size_t n = 0; n < tools.size(); ++n)
      for (int at = 0; at < 200; ++at) {
        stage s(tools);
        if (!goes(s, at)) break;
        if (!s.stop_call(n)) continue;
        CAPTURE(at, n, tools.size());
        s.play();
        s.is_whole();
        REQUIRE(s.results().size() == tools.size());
        CHECK(s.results()[n].cancelled);
        REQUIRE(s.ends().size() == 1);
        CHECK_FALSE(s.ends()[0].aborted);
        CHECK(s.model_calls() == 2);
      }
}

TEST_CASE("a stop of a call that never ends does not hold up its turn") {
  stage s({"slow", "fast"});
  s.stubborn = true;
  s.play();
  REQUIRE(s.stop_call(0));
  REQUIRE(s.stop_call(1));
  s.play();
  CHECK(s.model_calls() == 2);
  CHECK(s.ends().size() == 1);
  s.late_ends();
  s.is_whole();
}

TEST_CASE("a denied call is told to the model, and a stop at any point around the denial is whole") {
  for (int at = 0; at < 100; ++at) {
    stage s({"danger", "slow"});
    s.approves = false;
    const bool more = goes(s, at);
    if (more) s.stop();
    s.play();
    s.is_whole();
    if (more) continue;
    CHECK(s.results()[0].result == "\"denied no\"");
    CHECK_FALSE(s.results()[0].cancelled);
    break;
  }
}

TEST_CASE("an answer that cannot be stored ends the turn with that error, the last one too") {
  for (const auto& tools : answers)
    for (int refused = 1; refused <= (tools.empty() ? 1 : 2); ++refused) {
      stage s(tools);
      s.refused_store = refused;
      s.play();
      s.is_whole();
      REQUIRE(s.ends().size() == 1);
      CHECK(s.ends()[0].aborted == abort_reason::error);
      REQUIRE(s.ends()[0].error);
      CHECK(s.ends()[0].error->code == "storage_unavailable");
    }
}

TEST_CASE("an answer that cannot be stored, and a stop at every point around it") {
  for (int refused = 1; refused <= 2; ++refused)
    for (int at = 0; at < 200; ++at) {
      stage s({"slow", "exec"});
      s.refused_store = refused;
      if (!goes(s, at)) break;
      s.stop();
      s.play();
      s.is_whole();
    }
}

TEST_CASE("a timeout of a tool that never ends: the turn goes on, its end comes too late") {
  stage s({"slow", "fast"});
  s.stubborn = true;
  s.play();
  s.ended(2);
  s.play();
  s.pass(121s);
  s.play();
  REQUIRE(s.results().size() == 2);
  CHECK(s.results()[0].result == "\"timeout slow\"");
  CHECK(s.results()[1].ok);
  CHECK(s.model_calls() == 2);
  CHECK(s.ends().size() == 1);
  s.late_ends();
  CHECK(s.results()[0].result == "\"timeout slow\"");
  s.is_whole();
}

TEST_CASE("what waits for a human is picked up where it was, and asked about again if it never was") {
  // Resumed by hand: the stage begins anew, so the test passes the conversation in.
  struct quiet final : agent_loop {
    std::deque<std::function<void()>> mailbox;
    step_poster poster() override {
      return [this](std::function<void()> what) { mailbox.push_back(std::move(what)); };
    }
    boot_time now() override { return boot_time{1}; }
    void start_tool(call_number, const operation_id&, std::unique_ptr<tool_work>) override {}
    void stop_tool(call_number, const std::string&) override {}
    void over() override {}
  } loop;
  struct asks final : agent_port {
    std::vector<operation_id> approvals_requested;
    tool_traits traits(const tool_call& call) override { return traits_of(call); }
    void open_model_call(std::uint32_t, answer<result<operation_id>>) override {}
    std::unique_ptr<model_stream> ask_model(conversation, step_poster, std::function<void(model_event)>) override {
      return {};
    }
    void close_model_call(const operation_id&, std::optional<fault>, const model_usage&) override {}
    void store_answer(const assistant_message&, const std::vector<tool_traits>&, const model_usage&,
                      answer<result<std::vector<operation_id>>>) override {}
    void begin_call(const operation_id&, answer<bool>) override {}
    void close_call(const operation_id&, const tool_result&, answer<tool_result>) override {}
    void time_out_call(const operation_id&, const tool_result&, answer<tool_result>) override {}
    void input_changed(const tool_call&) override {}
    void expect_request(const conversation&) override {}
    std::vector<user_message> take_steering() override { return {}; }
    void close_last_model_call(const operation_id&, std::optional<fault>, const model_usage&) override {}
    void say_thinking(std::uint64_t, const std::string&, std::function<void()>) override {}
    void say_model_note(const model_note&) override {}
    void ask_human(const operation_id& call, const tool_call&, const std::string&) override {
      approvals_requested.push_back(call);
    }
    std::unique_ptr<tool_work> work_for(const operation_id&, const tool_call&, const turn&) override { return {}; }
    void say(const operation_id&, const tool_call&, const agent_news&) override {}
    void say_text(std::uint64_t, const std::string&, std::function<void()>) override {}
    void end(const turn_effects::end&, const std::optional<last_answer>&, std::uint64_t,
             std::function<void()>) override {}
  } port;
  const plain_texts texts;
  agent a({}, texts, port, loop);
  const assistant_message last{"", {{"a", "slow", "{}"}, {"b", "danger", "{}"}, {"c", "danger", "{}"}}, false};
  const std::vector<operation_id> ids{operation_id::fresh(), operation_id::fresh(), operation_id::fresh()};
  a.resume({user_message{"do it"}, last}, {{"a", "slow", true, false, "\"done\""}}, ids, {});
  CHECK(port.approvals_requested == std::vector<operation_id>{ids[1], ids[2]});
  CHECK(a.it().phase() == turn_phase::waiting);
}
