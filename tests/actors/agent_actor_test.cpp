// Reply and tool actors: actors that throw, exits that are late, doubled or foreign, and stops at every point.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/agent_actor_world.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::testing;

TEST_CASE("an agent actor with two tools answers, and ends once") {
  agent_actor_world w;
  w.begin();
  w.run();
  CHECK(w.overs == std::vector<bool>{false});
  CHECK(w.port->requested == 2);
  CHECK(w.port->results.size() == 2);
  CHECK(w.port->works == 0);
}

TEST_CASE("whatever throws first, in an agent or in a tool, ends that actor alone, and the end is told once") {
  int broken = 0, survived = 0;
  for (int n = 1;; ++n) {
    agent_actor_world w;
    w.port->throws_at = n;
    w.begin();
    w.run();
    CAPTURE(n);
    if (w.port->touches < n) break;
    REQUIRE(w.overs.size() == 1);
    CHECK(w.port->works == 0); // a dead agent takes its tools along
    ++(w.overs[0] ? broken : survived);
    if (w.overs[0]) continue;
    CHECK(w.port->requested == 2);
    for (const auto& call : w.port->calls) CHECK(w.port->results.count(call) == 1);
  }
  CHECK(broken > 5);
  CHECK(survived > 1);
}

TEST_CASE("whatever throws first while a stop goes down ends that actor alone, and the end is told once") {
  int broken = 0, survived = 0;
  for (int n = 1;; ++n) {
    agent_actor_world w;
    w.port->tools_wait = true;
    w.begin();
    w.run();
    REQUIRE(w.port->works == 2);
    w.port->throws_at = w.port->touches + n;
    w.stop();
    w.run();
    CAPTURE(n);
    CHECK(w.port->works == 0);
    REQUIRE(w.overs.size() == 1);
    if (w.port->touches < w.port->throws_at) break;
    ++(w.overs[0] ? broken : survived);
  }
  CHECK(broken > 0);   // a throw of the agent's own step
  CHECK(survived > 0); // one in the stop of a tool
}

TEST_CASE("a throw in any handler of an agent ends that agent alone, and its end is told once") {
  using handler = std::function<void(agent_actor_world&)>;
  const std::vector<std::pair<std::string, handler>> handlers = {
      {"cancel_now", [](agent_actor_world& w) { w.stop(); }},
      {"call_cancelled", [](agent_actor_world& w) { w.first().stop_call(w.port->calls.at(0), "enough"); }},
      {"on_human_decision",
       [](agent_actor_world& w) { w.first().decide(w.port->calls.at(1), approval_outcome::approved, {}, {}); }},
      {"call_waits", [](agent_actor_world& w) { w.first().waits(w.port->calls.at(0), human_wait::begins); }},
      {"turn_ticked", [](agent_actor_world& w) { w.passes(std::chrono::seconds{200}); }},
      {"tool_over", [](agent_actor_world& w) { w.port->last_work->finish(); }},
  };
  for (const auto& [name, send] : handlers) {
    CAPTURE(name);
    agent_actor_world w;
    w.port->tools_wait = true;
    w.port->tools = {"slow", "danger"}; // the second one waits for a human
    const auto other_port = std::make_shared<played_port>();
    other_port->tools_wait = true;
    std::vector<bool> other_overs;
    w.begin();
    w.run();
    REQUIRE(w.port->calls.size() == 2);
    REQUIRE(w.port->works == 1);
    const auto other = w.begin(other_port, [&](bool broken) { other_overs.push_back(broken); });
    w.run();
    w.clock_breaks = true;
    send(w);
    w.run();
    w.clock_breaks = false;
    CHECK(w.overs == std::vector<bool>{true});
    CHECK(w.port->works == 0);
    if (name == "turn_ticked") continue; // the other one has the same clock
    CHECK(other_overs.empty());
    CHECK(other_port->works == 2);
    other->stop(abort_reason::user, "enough");
    w.run();
    CHECK(other_overs == std::vector<bool>{false});
  }
}

TEST_CASE("a tool whose work throws ends its call as interrupted, and the turn goes on") {
  agent_actor_world w;
  w.port->tools_break = true;
  w.begin();
  w.run();
  CHECK(w.overs == std::vector<bool>{false});
  CHECK(w.port->requested == 2);
  REQUIRE(w.port->results.size() == 2);
  for (const auto& [call, result] : w.port->results) {
    CHECK_FALSE(result.ok);
    CHECK(result.result == "\"interrupted\"");
  }
}

TEST_CASE("foreign, doubled and late exits change nothing") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  REQUIRE(w.port->works == 2);
  const auto stranger = w.stranger();
  for (int i = 0; i < 2; ++i) w.exits(stranger.address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs.empty());
  CHECK(w.port->works == 2);
  w.stop();
  w.run();
  CHECK(w.overs == std::vector<bool>{false});
  CHECK(w.port->works == 0);
  w.exits(stranger.address(), caf::sec::runtime_error); // late: it is gone
  w.run();
  CHECK(w.overs.size() == 1);
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("an exit that is meant for the agent ends it, with its tools") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  REQUIRE(w.port->works == 2);
  w.exits(w.agent_address(), caf::sec::runtime_error);
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  CHECK(w.port->works == 0);
}

TEST_CASE("a stop between any two messages ends an agent actor once, and everything below it") {
  for (const bool waits : {false, true})
    for (int at = 0;; ++at) {
      agent_actor_world w;
      w.port->tools_wait = waits;
      w.begin();
      bool goes_on = true;
      for (int i = 0; i < at && goes_on; ++i) goes_on = w.step();
      CAPTURE(at, waits);
      w.stop();
      w.stop(); // twice is once
      w.run();
      CHECK(w.overs == std::vector<bool>{false});
      CHECK(w.port->works == 0);
      CHECK(w.port->ends.size() == 1);
      for (const auto& call : w.port->calls) CHECK(w.port->results.count(call) == 1);
      if (!goes_on) break;
      REQUIRE(at < 1000);
    }
}
