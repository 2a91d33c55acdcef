// Steps of the MCP host that throw: each is dropped, its caller is answered, and the host goes on.
#include <catch2/catch.hpp>

#include "controller/commands/command_request.hpp"
#include "tests/actors/large_allocations.hpp"
#include "tests/actors/mcp_host_world.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::controller::turns;
using namespace quell::testing;
using namespace std::chrono_literals;

TEST_CASE("a step that throws answers its caller and harms neither the host nor other servers", "[mcp]") {
  mcp_world w;
  w.servers["a"].throws = true;
  w.servers["b"].answer = one_tool("y");
  const auto broken = w.turn_with({"a", "b"}), other = w.turn_with({"b"});
  w.run();
  CHECK(broken->times == 1);
  CHECK(says(broken->offered.note, "asking for them failed"));
  CHECK(other->names() == "mcp__b__y ");
  w.servers["a"].throws = false;
  w.servers["a"].answer = one_tool("x");
  const auto next = w.turn_with({"a", "b"});
  w.run();
  CHECK(next->names() == "mcp__a__x mcp__b__y ");
}

TEST_CASE("a throw as an agent ends or a login changes is dropped, and the host goes on", "[mcp]") {
  for (const bool is_login : {true, false}) {
    mcp_world w;
    auto settings = *w.runtime->settings.get();
    mcp_settings own;
    own.name = "own";
    own.command = {"serve"};
    own.per_turn = true;
    settings.mcp.push_back(own);
    w.runtime->settings.set(settings);
    w.runtime->core.execute = [](controller::command_request&&) {};
    w.servers["a"].answer = one_tool("x");
    w.servers["b"].answer = tl::unexpected(fault{"mcp_login_needed", large_text(), {}});
    const auto agent = operation_id::fresh();
    w.host->tools({"own", "b"}, {agent, agent, {}}, [](const offered_tools&) {});
    w.run();
    REQUIRE(w.trouble("b").size() > large_bytes);
    const auto actor = w.actor();
    if (is_login)
      caf::anon_send(actor, login_changed{"a"});
    else
      w.host->user_over(agent);
    {
      const no_large_allocations full; // to copy that trouble
      w.run();
    }
    const auto next = w.turn_with({"a"});
    w.run();
    CHECK(next->names() == "mcp__a__x ");
    w.servers["b"].answer = one_tool("y");
    if (is_login) {
      caf::anon_send(actor, login_changed{"b"});
      w.run();
      CHECK(w.trouble("b").empty());
    }
  }
}

TEST_CASE("a callback that throws harms neither the host nor those who wait with it", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = one_tool("x");
  int calls = 0;
  w.host->tools({"a"}, {operation_id::fresh(), operation_id::fresh(), {}}, [&calls](const offered_tools&) {
    ++calls;
    throw std::runtime_error("played");
  });
  const auto other = w.turn_with({"a"});
  w.host->when_ready("a", operation_id::fresh(), reach_to::work,
                     [&calls](const std::shared_ptr<integrations::mcp_server>&, const std::string&) {
                       ++calls;
                       throw 7;
                     });
  const auto next = w.turn_with({"a"});
  w.passes(1h);
  CHECK(calls == 2);
  CHECK(other->names() == "mcp__a__x ");
  CHECK(next->names() == "mcp__a__x ");
  CHECK(w.trouble("a").empty());
}

TEST_CASE("a server that throws when a call needs it, or when it is connected, answers that call", "[mcp]") {
  mcp_world w;
  w.servers.erase("b"); // connecting throws
  std::vector<std::string> got;
  for (int i = 0; i < 2; ++i)
    w.host->when_ready("b", operation_id::fresh(), i == 0 ? reach_to::work : reach_to::stop,
                       [&got](const std::shared_ptr<integrations::mcp_server>& server, const std::string& why) {
                         got.push_back(server ? "a server" : why);
                       });
  w.run();
  CHECK(got == std::vector<std::string>(2, "the start of this server failed"));
}
