// The root of the tree: what ends it, what its own throw does, and the core that it monitors.
#include <catch2/catch.hpp>

#include "tests/actors/agent_actor_world.hpp"
#include "tests/actors/ends_process.hpp"
#include "tests/actors/large_allocations.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::testing;

TEST_CASE("a user_shutdown from a stranger, or a second one of a scope's own, ends nothing") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  const auto stranger = w.stranger();
  for (int i = 0; i < 2; ++i) w.exits(w.supervisor(), stranger.address(), caf::exit_reason::user_shutdown);
  w.run();
  CHECK(w.overs.empty());
  CHECK(w.port->works == 2);
  const auto scope = w.scopes.at(0).address();
  w.exits(w.supervisor(), scope, caf::exit_reason::user_shutdown); // its scope has died without its agents
  w.run();
  CHECK(w.overs == std::vector<bool>{true});
  w.exits(w.supervisor(), scope, caf::exit_reason::user_shutdown);
  w.run();
  const auto other_port = std::make_shared<played_port>();
  std::vector<bool> other_overs;
  const auto other = w.begin(other_port, [&](bool broken) { other_overs.push_back(broken); });
  w.run();
  CHECK(other_overs == std::vector<bool>{false}); // the supervisor lives
  w.dies(w.scopes.at(0));
  w.run();
  CHECK(w.port->works == 0);
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("the planned end of the core leaves the supervisor, and foreign DOWNs mean nothing") {
  agent_actor_world w;
  w.port->tools_wait = true;
  w.begin();
  w.run();
  const auto stranger = w.stranger();
  for (int i = 0; i < 2; ++i)
    caf::anon_send(caf::actor_cast<caf::actor>(w.supervisor()),
                   caf::down_msg{stranger.address(), caf::exit_reason::kill});
  w.core_ends(caf::exit_reason::user_shutdown);
  w.core_ends(caf::exit_reason::user_shutdown);
  w.run();
  CHECK(w.overs.empty());
  w.stop();
  w.run();
  CHECK(w.overs == std::vector<bool>{false});
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("a core that dies takes the process along") {
  CHECK(ends_process([] {
    agent_actor_world w;
    w.run();
    w.core_ends(caf::exit_reason::kill);
    w.run();
  }));
}

TEST_CASE("a throw in any handler of the supervisor ends the process") {
  CHECK(ends_process([] { // begin_agent
    agent_actor_world w;
    w.makes_no_scope = true;
    w.begin();
    w.run();
  }));
  CHECK(ends_process([] { // tell_agent
    agent_actor_world w;
    w.port->tools_wait = true;
    w.begin();
    w.run();
    w.first().stop(abort_reason::user, large_text());
    const no_large_allocations full;
    w.run();
  }));
  CHECK(ends_process([] { // agent_ended
    agent_actor_world w;
    w.when_over = [](bool) { throw std::runtime_error("played"); };
    w.port->throws_at = 1;
    w.begin();
    w.run();
  }));
  CHECK(ends_process([] { // the exit of a scope
    agent_actor_world w;
    w.when_over = [](bool) { throw std::runtime_error("played"); };
    w.port->tools_wait = true;
    w.begin();
    w.run();
    w.dies(w.scopes.at(0));
    w.run();
  }));
}
