// Servers of the MCP host that are silent, late or out of reach, and what a turn is told about each.
#include <catch2/catch.hpp>
#include <future>

#include "tests/actors/mcp_host_world.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::controller::turns;
using namespace quell::testing;
using namespace std::chrono_literals;

TEST_CASE("a turn gets the tools of its servers, which are connected once", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = one_tool("x");
  w.servers["b"].answer = one_tool("y");
  const auto first = w.turn_with({"b", "a"}), second = w.turn_with({"a"});
  CHECK(first->times == 0);
  w.run();
  CHECK(first->times == 1);
  CHECK(first->names() == "mcp__b__y mcp__a__x ");
  CHECK(second->names() == "mcp__a__x ");
  CHECK(w.connected == std::map<std::string, int>{{"a", 1}, {"b", 1}});
  CHECK(w.trouble("a").empty());
}

TEST_CASE("a turn goes on only once it is known that a server is silent: the next one does not wait for it", "[mcp]") {
  mcp_world w;
  w.servers["b"].answer = one_tool("y");
  const auto first = w.turn_with({"a", "b"});
  w.run();
  w.passes(19'999ms);
  CHECK(first->times == 0);
  w.passes(1ms);
  CHECK(first->times == 1);
  CHECK(first->names() == "mcp__b__y ");
  CHECK(says(first->offered.note, "MCP server a has not answered within 20000 ms"));
  CHECK(says(w.trouble("a"), "is not waited for until it does"));
  const auto next = w.turn_with({"a", "b"});
  w.run();
  CHECK(next->times == 1);
  CHECK(next->names() == "mcp__b__y ");
  CHECK(w.servers["a"].requests == 1);
}

TEST_CASE("a late answer contributes nothing to its turn and ends the silence", "[mcp]") {
  mcp_world w;
  const auto late = w.turn_with({"a"});
  w.run();
  w.passes(20s);
  REQUIRE(late->times == 1);
  w.servers["a"].answers(one_tool("x"));
  w.run();
  CHECK(late->times == 1);
  CHECK(late->names().empty());
  CHECK(w.trouble("a").empty());
  w.servers["a"].answer = one_tool("x");
  const auto next = w.turn_with({"a"});
  w.run();
  CHECK(next->names() == "mcp__a__x ");
}

TEST_CASE("an answer that crosses its time limit leaves no silence behind, in either order", "[mcp]") {
  for (const bool answer_first : {true, false}) {
    mcp_world w;
    const auto turn = w.turn_with({"a"});
    w.run();
    if (answer_first) {
      w.servers["a"].answers(one_tool("x"));
      w.scheduler.advance_time(20s);
    } else {
      w.scheduler.advance_time(20s);
      w.servers["a"].answers(one_tool("x"));
    }
    w.run();
    CHECK(turn->times == 1);
    CHECK(w.trouble("a").empty());
    w.servers["a"].answer = one_tool("x");
    const auto next = w.turn_with({"a"});
    w.run();
    CHECK(next->names() == "mcp__a__x ");
  }
}

TEST_CASE("a url that failed is tried again after growing pauses, and turns do without it meanwhile", "[mcp]") {
  mcp_world w;
  auto& a = w.servers["a"];
  a.answer = nothing("mcp_unreachable");
  const auto first = w.turn_with({"a"});
  w.run();
  CHECK(says(first->offered.note, "has no tools to offer now: it is ill"));
  CHECK(says(w.trouble("a"), "it is tried again in the background"));
  REQUIRE(a.requests == 1);
  int requests = 1;
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    w.passes(pause - 1ms);
    CHECK(a.requests == requests);
    w.passes(1ms);
    CHECK(a.requests == ++requests);
    const auto meanwhile = w.turn_with({"a"});
    w.run();
    CHECK(meanwhile->times == 1);
    CHECK(a.requests == requests);
  }
  a.answer = one_tool("x");
  w.passes(60s);
  CHECK(w.trouble("a").empty());
  w.passes(1h);
  CHECK(a.requests == requests + 1);
}

TEST_CASE("a server that wants a login is named to the turn, and requests again after one", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = nothing("mcp_login_needed");
  const auto first = w.turn_with({"a"});
  w.run();
  CHECK(first->offered.logins == std::vector<std::string>{"a"});
  const auto second = w.turn_with({"a"});
  w.run();
  CHECK(second->offered.logins == std::vector<std::string>{"a"});
  CHECK(w.servers["a"].requests == 1);
}

TEST_CASE("a call gets its server, or the reason why there is none", "[mcp]") {
  mcp_world w;
  std::vector<std::pair<bool, std::string>> got;
  const auto keep = [&got](const std::shared_ptr<integrations::mcp_server>& server, const std::string& why) {
    got.emplace_back(server != nullptr, why);
  };
  w.host->when_ready("a", operation_id::fresh(), reach_to::work, keep);
  w.host->when_ready("absent", operation_id::fresh(), reach_to::work, keep);
  w.run();
  REQUIRE(got.size() == 2);
  CHECK(got[0] == std::pair{true, std::string()});
  CHECK(got[1] == std::pair{false, std::string("there is no MCP server absent configured")});
}

TEST_CASE("a stop that needs a server overtakes everything that waits at the host", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = one_tool("x");
  std::string order;
  const auto note = [&order](const std::string& name) {
    return [&order, name](const std::shared_ptr<integrations::mcp_server>&, const std::string&) { order += name; };
  };
  const auto turn = w.turn_with({"a"});
  w.host->when_ready("a", operation_id::fresh(), reach_to::work, note("1"));
  w.host->when_ready("a", operation_id::fresh(), reach_to::work, note("2"));
  w.host->when_ready("a", operation_id::fresh(), reach_to::stop, note("stop "));
  w.run();
  CHECK(order == "stop 12");
  CHECK(turn->times == 1);
}

TEST_CASE("whenever the host dies, each turn that waits for it is answered once", "[mcp]") {
  for (int at = 0;; ++at) {
    mcp_world w;
    w.servers["b"].answer = one_tool("y");
    const auto first = w.turn_with({"a", "b"}), second = w.turn_with({"b"});
    bool goes_on = true;
    for (int i = 0; i < at && goes_on; ++i) goes_on = w.scheduler.try_run_once();
    CAPTURE(at);
    w.host.reset();
    w.run();
    w.servers["a"].answers(one_tool("late"));
    w.passes(1h);
    CHECK(first->times == 1);
    CHECK(second->times == 1);
    if (!goes_on) break;
    REQUIRE(at < 1000);
  }
}

TEST_CASE("once a host has ended nobody is called back, and its servers are released", "[mcp]") {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto runtime = std::make_shared<agent_runtime>();
  turn_settings settings;
  mcp_settings one;
  one.name = "a";
  one.url = "http://127.0.0.1:1/a";
  one.key_env = "KEY";
  settings.mcp.push_back(one);
  runtime->settings.set(settings);
  runtime->core.now = [] { return moment{}; };
  script silent;
  std::promise<void> connected;
  std::weak_ptr<integrations::mcp_server> server;
  const auto host =
      spawn_mcp_host(system, {runtime, *mcp_accounts::open("", settings.mcp), remote_ids("key")},
                     [&](const mcp_settings&, mcp_accounts&,
                         const integrations::mcp_hooks&) -> result<std::shared_ptr<integrations::mcp_server>> {
                       auto made = std::make_shared<played_server>(silent);
                       server = made;
                       connected.set_value();
                       return made;
                     });
  int times = 0;
  const auto count = [&times](const offered_tools&) { ++times; };
  host->tools({"a"}, {}, count);
  REQUIRE(connected.get_future().wait_for(60s) == std::future_status::ready);
  host->end();
  CHECK(server.expired());
  CHECK(silent.ended_on == std::this_thread::get_id()); // no thread of the scheduler waits for the end of a server
  host->tools({"a"}, {}, count);
  silent.answers(one_tool("late"));
  host->end();
  CHECK(times == 0);
}
